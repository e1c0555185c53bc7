//! The election of the manager: its Lease, identity and clients.

use controller_kit::election::{ElectionMetrics, Identity, LeaseLock};
use controller_kit::recorder::Recorder;
use endpoint_informers::lifecycle::PendingElection;
use kube_api::ApiClient;
use prometheus_client::registry::Registry;

use crate::api_clients::Clients;
use crate::config::{Config, LeaderElection};
use crate::connection::ConnectionError;
use crate::runtimes::Handles;
use crate::version;

/// The last part of the elector's user agent.
const ELECTION: &str = "leader-election";

/// The election; none if it is off.
pub(crate) fn pending(
    config: &Config,
    clients: &Clients<'_>,
    handles: &Handles,
    registry: &mut Registry,
) -> Result<Option<PendingElection>, ConnectionError> {
    let Some(config) = &config.leader_election else { return Ok(None) };
    let metrics = ElectionMetrics::register(registry);
    let election = {
        let _control = handles.control.enter();
        new(config, clients.unshared(ELECTION)?, clients.of(ELECTION), metrics)
    };
    Ok(Some(election))
}

/// An election over `client`, which is neither rate-limited nor bound to leadership, and has connections of its own: those
/// of controllers may be busy, or dead and many. To be called, and `client` made, in the context of the control runtime.
/// Events go through `events`.
fn new(
    config: &LeaderElection,
    client: ApiClient,
    events: ApiClient,
    metrics: ElectionMetrics,
) -> PendingElection {
    let events = Recorder::new(events, version::NAME);
    let lock = LeaseLock::new(client, &config.namespace, &config.name);
    PendingElection::new(config.timing, lock, Identity::unique(&hostname()), events, metrics)
}

/// The host name, which upstream asks the kernel for too.
fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use axum::routing::{get, put};
    use controller_kit::election::Config;
    use kube_api::{Encoding, connect};
    use serde_json::{Value, json};

    use super::*;

    /// An API server in a thread of its own, with a Lease for which no other process contends.
    pub(crate) fn lease_server() -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let version = Arc::new(AtomicU64::new(0));
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
        address
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
}
