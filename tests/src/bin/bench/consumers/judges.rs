//! kube-proxy and CoreDNS, and what a client notices of both.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tests::cluster::{Cluster, User};
use tests::dns::CoreDns;
use tests::kube_proxy::{self, NODE};
use tests::process::Process;
use tests::wait::LIMIT;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::options::ProxyMode;
use crate::seed::create;

/// The port of the containers: the network of this process has the addresses of all pods.
pub(super) const PORT: u16 = 8080;
/// The time after which a connection counts as lost.
const LOST: Duration = Duration::from_secs(1);

/// Programs that read endpoints, on the node of this process.
pub(super) struct Judges {
    _proxy: Process,
    dns: CoreDns,
    pods: JoinHandle<()>,
}

impl Drop for Judges {
    fn drop(&mut self) {
        self.pods.abort();
    }
}

impl Judges {
    /// Starts both, and what the pods run.
    pub(super) async fn start(cluster: &Cluster, mode: ProxyMode) -> Self {
        let nodes: Api<Node> = Api::all(cluster.client());
        create(&nodes, json!({"metadata": {"name": NODE}})).await;
        let addresses =
            Patch::Merge(json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.249.0.1"}]}}));
        nodes.patch_status(NODE, &PatchParams::default(), &addresses).await.expect("addresses of the node");
        let pods = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await.expect("the port of the pods");
        let kubeconfig = cluster.kubeconfig(User::Admin);
        let dns = CoreDns::start(cluster.folder(), &kubeconfig);
        let pods = tokio::spawn(async move { while pods.accept().await.is_ok() {} });
        Self { _proxy: kube_proxy::start(cluster.folder(), &kubeconfig, mode.names()), dns, pods }
    }

    /// Waits until a client at the address of a Service reaches a pod, or is refused. It tries `every` so often, which is
    /// the resolution of what is measured.
    ///
    /// # Panics
    /// After [`LIMIT`], as [`Self::resolves`] does.
    pub(super) async fn connects(&self, address: SocketAddr, expected: bool, every: Duration) -> Instant {
        let start = Instant::now();
        loop {
            let connected = connect(address).await;
            if connected == Some(expected) {
                return Instant::now();
            }
            assert!(start.elapsed() < LIMIT, "kube-proxy: connections to {address}: {connected:?}");
            sleep(every).await;
        }
    }

    /// Waits until the name of a headless Service has exactly these addresses.
    pub(super) async fn resolves(&self, name: &str, expected: &BTreeSet<IpAddr>, every: Duration) -> Instant {
        let start = Instant::now();
        loop {
            let found = self.addresses(name).await;
            if found.as_ref() == Ok(expected) {
                return Instant::now();
            }
            assert!(start.elapsed() < LIMIT, "CoreDNS: {name}: {found:?}");
            sleep(every).await;
        }
    }

    /// The addresses that a name has now.
    pub(super) async fn addresses(&self, name: &str) -> Result<BTreeSet<IpAddr>, String> {
        self.dns.addresses(name).await
    }
}

/// True if a pod accepts the connection, false if it is refused; `None` if nothing comes back in time.
pub(super) async fn connect(address: SocketAddr) -> Option<bool> {
    match timeout(LOST, TcpStream::connect(address)).await.ok()? {
        Ok(stream) => {
            // Closed by a reset: no address and port is reserved afterwards.
            stream.set_zero_linger().expect("a socket option");
            Some(true)
        }
        // The latter by a listener that closes just then.
        Err(error) if [ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset].contains(&error.kind()) => {
            Some(false)
        }
        Err(error) => panic!("connecting to {address}: {error}"),
    }
}
