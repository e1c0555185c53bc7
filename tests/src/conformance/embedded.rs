//! The embedded server, as a lone kube-apiserver would be.

use embedded_apiserver::ApiServer;
use tokio::net::TcpListener;

use super::NODE_PORTS;
use super::exchange::Server;
use crate::binaries;
use crate::release::Release;

/// Starts an embedded server on a loopback port. It does the work of no controller, because none runs alongside the
/// real server. It ends with the runtime.
///
/// # Panics
/// If the system has no port left.
pub async fn embedded_server() -> Server {
    let builder = ApiServer::builder().node_ports(NODE_PORTS).garbage_collection(false);
    let release = Release(binaries::servers().minor());
    let builder = builder.namespace_termination(false).deletion_of_endpoints(release.deletes_endpoints());
    let server = builder.build();
    // As in the real server, the history begins with the present. Its versions are none of the small numbers of the generator.
    server.restore(&server.snapshot(), Some(1_000_000));
    server.compact();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { server.serve(listener, None, std::future::pending()).await });
    Server::at(url)
}
