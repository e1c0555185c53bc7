//! An API server with one Lease, for tests of what depends on the election.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::routing::{get, put};
use controller_kit::election::Config;
use kube_api::{Encoding, connect};
use serde_json::{Value, json};

use super::*;

/// An API server in a thread of its own, with a Lease for which no other process contends, and the number of writes of it.
pub(crate) fn lease_server() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let writes = Arc::new(AtomicU64::new(0));
    let version = Arc::clone(&writes);
    let store = move |lease: String| {
        let mut lease: Value = serde_json::from_str(&lease).unwrap();
        let version = version.fetch_add(1, Ordering::SeqCst) + 1;
        lease["metadata"]["resourceVersion"] = version.to_string().into();
        async move { lease.to_string() }
    };
    let released = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"namespace": "kube-system", "name": "lease", "resourceVersion": "0"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let router = axum::Router::new()
        .route(&format!("{leases}/lease"), put(store).merge(get(async move || released.to_string())));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap();
        });
    });
    (address, writes)
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
