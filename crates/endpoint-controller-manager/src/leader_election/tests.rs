//! An API server for tests of what depends on the election.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use controller_kit::election::Config;
use embedded_apiserver::{ApiServer, AuditEvent};
use kube_api::{Encoding, connect};

use super::*;

/// Serves in a thread of its own.
pub(crate) fn serve(router: Router) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap();
        });
    });
    address
}

/// An API server with a Lease for which no other process contends, and the number of its renewals.
pub(crate) fn lease_server() -> (SocketAddr, Arc<AtomicU64>) {
    let renewals = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&renewals);
    let audit = move |event: &AuditEvent| {
        if event.resource == "leases" && event.verb == "update" {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    };
    let server = ApiServer::builder().audit(audit).build();
    (serve(Router::new().fallback_service(server)), renewals)
}

/// An election for the Lease of that server.
pub(crate) fn election(timing: Config, server: SocketAddr, handles: &Handles) -> PendingElection {
    let config = kube::Config::new(format!("http://{server}").parse().unwrap());
    let client = || ApiClient::new(connect(&config).unwrap(), Encoding::Json, "test");
    let events = client();
    let _control = handles.control.enter();
    let (namespace, name) = ("kube-system".to_owned(), "lease".to_owned());
    let election = LeaderElection { timing, namespace, name };
    new(&election, client(), events, ElectionMetrics::default())
}
