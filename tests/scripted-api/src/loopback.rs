//! The script over a real socket.

use std::net::SocketAddr;
use std::sync::Arc;

use http::Request;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::script::Script;

/// A server on a loopback port. Dropping it breaks every connection and closes the port.
pub struct Loopback {
    pub address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Loopback {
    /// Serves on a free port.
    pub fn start(script: &Arc<Script>) -> Self {
        let [socket, _] = reserve();
        Self::listen(socket, script)
    }

    /// Serves on a reserved port.
    pub fn listen(socket: TcpSocket, script: &Arc<Script>) -> Self {
        let listener = socket.listen(128).unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::clone(script);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&script)));
            }
        });
        Self { address, accepting }
    }

    /// The configuration of a client for an address.
    pub fn config(address: SocketAddr) -> kube::Config {
        kube::Config::new(format!("http://{address}").parse().unwrap())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A free port, twice: for a server, and for its successor. Until either listens, connections are refused, and no other
/// process can take the port.
pub fn reserve() -> [TcpSocket; 2] {
    let bind = |port| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseport(true).unwrap();
        socket.bind(([127, 0, 0, 1], port).into()).unwrap();
        socket
    };
    let first = bind(0);
    let port = first.local_addr().unwrap().port();
    [first, bind(port)]
}

/// One request and its answer; then the connection closes, so that every request is a connection of its own.
async fn serve(stream: TcpStream, script: Arc<Script>) {
    let service = service_fn(|request: Request<Incoming>| {
        let script = Arc::clone(&script);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok::<_, hyper::Error>(script.respond(head, body).await)
        }
    });
    // The way in which the connection ends does not matter.
    let _ = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service).await;
}
