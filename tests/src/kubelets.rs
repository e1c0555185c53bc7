//! Stand-ins for kubelets alongside upstream's node lifecycle controller: nodes whose Leases they renew, and pods that are ready.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::binaries;
use crate::cluster::{Cluster, User};
use crate::process::Process;
use crate::wait::{self, LIMIT};

/// The conditions of a Node besides Ready that the node lifecycle controller makes `Unknown`.
const PRESSURES: [&str; 3] = ["MemoryPressure", "DiskPressure", "PIDPressure"];
/// Requests at a time.
const AT_ONCE: usize = 20;
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// The number of objects in the namespace `default`.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Nodes `n0`, `n1`, ….
    pub nodes: usize,
    /// Services `web-0`, `web-1`, ….
    pub services: usize,
    /// Pods of each Service, on one node after the other: `p0`, `p1`, ….
    pub pods: usize,
}

impl Size {
    /// All pods.
    pub fn all_pods(self) -> usize {
        self.services * self.pods
    }

    /// The pods of a node.
    pub fn pods_of(self, node: usize) -> impl Iterator<Item = usize> {
        (node..self.all_pods()).step_by(self.nodes)
    }
}

/// The kubelets of a cluster. They end when this is dropped, as does the node lifecycle controller.
pub struct Kubelets {
    client: Client,
    size: Size,
    /// The nodes whose kubelets renew their Leases.
    connected: Arc<Mutex<BTreeSet<usize>>>,
    renewals: JoinHandle<()>,
    _node_lifecycle: Process,
}

impl Drop for Kubelets {
    fn drop(&mut self) {
        self.renewals.abort();
    }
}

impl Kubelets {
    /// Creates the objects, and starts kubelets and node lifecycle controller with `flags`.
    pub async fn start(cluster: &Cluster, size: Size, flags: &[&str]) -> Self {
        let client = cluster.client();
        wait::until("the namespace of Leases", LIMIT, async || {
            try_send(&client, "GET", "/api/v1/namespaces/kube-node-lease", &Value::Null).await
        })
        .await;
        let connected = Arc::new(Mutex::new((0..size.nodes).collect::<BTreeSet<_>>()));
        let this = Self {
            size,
            renewals: tokio::spawn(renew(client.clone(), Arc::clone(&connected))),
            connected,
            _node_lifecycle: node_lifecycle(cluster, flags),
            client,
        };
        each(0..size.nodes, |node| this.create_node(node)).await;
        each(0..size.services, |service| this.create_service(service)).await;
        each(0..size.all_pods(), |pod| this.start_pod(pod)).await;
        this
    }

    async fn create_node(&self, node: usize) {
        let name = json!({"name": format!("n{node}")});
        self.send("POST", "/api/v1/nodes", &json!({"metadata": name})).await;
        // Node lifecycle never takes up the first renewal of a Lease that was without one.
        let renewed = format!("{:.6}", Timestamp::now());
        let spec =
            json!({"holderIdentity": format!("n{node}"), "leaseDurationSeconds": 40, "renewTime": renewed});
        self.send("POST", LEASES, &json!({"metadata": name, "spec": spec})).await;
        self.report_node(node).await;
    }

    async fn create_service(&self, service: usize) {
        let name = format!("web-{service}");
        let spec = json!({"selector": {"app": name}, "ports": [{"port": 80}]});
        let object = json!({"metadata": {"name": name}, "spec": spec});
        self.send("POST", "/api/v1/namespaces/default/services", &object).await;
    }

    /// Creates a pod of its Service on its node, which is ready.
    async fn start_pod(&self, pod: usize) {
        let labels = json!({"app": format!("web-{}", pod / self.size.pods % self.size.services)});
        let gates = json!([{"conditionType": GATE}]);
        let containers = json!([{"name": "main", "image": "none"}]);
        let node = format!("n{}", pod % self.size.nodes);
        let spec = json!({"nodeName": node, "containers": containers, "readinessGates": gates});
        let object = json!({"metadata": {"name": format!("p{pod}"), "labels": labels}, "spec": spec});
        self.send("POST", PODS, &object).await;
        self.report_pod(pod, &["Ready", "ContainersReady", GATE], "True").await;
    }

    /// Ends the connections of these kubelets.
    pub fn disconnect(&self, nodes: impl IntoIterator<Item = usize>) {
        let mut connected = self.connected.lock();
        nodes.into_iter().for_each(|node| _ = connected.remove(&node));
    }

    /// The kubelet of a node is back: it reports its node and pods.
    pub async fn reconnect(&self, node: usize) {
        self.connected.lock().insert(node);
        self.report_node(node).await;
        each(self.size.pods_of(node), |pod| self.report_pod(pod, &["Ready", "ContainersReady"], "True"))
            .await;
    }

    async fn report_node(&self, node: usize) {
        let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": now(), "lastTransitionTime": now()});
        let mut conditions: Vec<Value> =
            PRESSURES.iter().map(|kind| condition(kind, "False", "Fine")).collect();
        conditions.push(condition("Ready", "True", "KubeletReady"));
        let status = json!({"conditions": conditions, "allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}});
        self.send("PATCH", &format!("/api/v1/nodes/n{node}/status"), &json!({"status": status})).await;
    }

    /// Patches the status of a running pod: these conditions get this status.
    pub async fn report_pod(&self, pod: usize, conditions: &[&str], value: &str) {
        let condition = |kind: &&str| json!({"type": kind, "status": value, "lastTransitionTime": now()});
        let address = Self::address(pod);
        let conditions: Vec<Value> = conditions.iter().map(condition).collect();
        let status = json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": conditions});
        self.send("PATCH", &format!("{PODS}/p{pod}/status"), &json!({"status": status})).await;
    }

    /// The address of a pod.
    pub fn address(pod: usize) -> IpAddr {
        let [third, fourth] = [pod / 250, pod % 250 + 1].map(|byte| u8::try_from(byte).expect("few pods"));
        IpAddr::from([10, 1, third, fourth])
    }

    /// Patches a Service.
    pub async fn patch_service(&self, service: usize, patch: &Value) {
        self.send("PATCH", &format!("/api/v1/namespaces/default/services/web-{service}"), patch).await;
    }

    /// The number of pods that say that they are ready.
    pub async fn ready_pods(&self) -> usize {
        let list = self.send("GET", PODS, &Value::Null).await;
        let pods = list["items"].as_array().expect("pods");
        let is_ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
        let conditions = pods.iter().filter_map(|pod| pod["status"]["conditions"].as_array());
        conditions.filter(|conditions| conditions.iter().any(is_ready)).count()
    }

    /// The names of pods that slices publish as ready, by the names of their Services.
    pub async fn published(&self) -> BTreeSet<(String, String)> {
        let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
        let list = self.send("GET", path, &Value::Null).await;
        let slices = list["items"].as_array().expect("slices").iter();
        let ours = slices.filter(|slice| slice["metadata"]["name"] != "kubernetes");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        ours.flat_map(|slice| {
            let endpoints = slice["endpoints"].as_array().into_iter().flatten();
            let ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] == true);
            ready.map(|endpoint| {
                let service = text(&slice["metadata"]["labels"]["kubernetes.io/service-name"]);
                (service, text(&endpoint["targetRef"]["name"]))
            })
        })
        .collect()
    }

    /// Waits until that many pods say that they are ready.
    pub async fn wait_for_pods(&self, count: usize) {
        wait::until("the readiness of pods", LIMIT, async || match self.ready_pods().await {
            found if found == count => Ok(()),
            found => Err(format!("{found} of {count}")),
        })
        .await;
    }

    /// Waits until that many endpoints are ready.
    pub async fn wait_for_published(&self, count: usize) {
        wait::until("endpoints", LIMIT, async || match self.published().await.len() {
            found if found == count => Ok(()),
            found => Err(format!("{found} of {count} are published")),
        })
        .await;
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let response = try_send(&self.client, method, path, body).await;
        response.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }
}

/// A readiness gate of each pod, which is true.
const GATE: &str = "example.com/gate";

fn now() -> String {
    format!("{:.0}", Timestamp::now())
}

async fn try_send(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value, kube::Error> {
    let content =
        if method == "PATCH" { "application/strategic-merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", content);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    client.request(request.body(body).expect("a request")).await
}

async fn each<F: Future<Output = ()>>(numbers: impl Iterator<Item = usize>, act: impl Fn(usize) -> F) {
    futures::stream::iter(numbers).map(act).buffer_unordered(AT_ONCE).collect::<()>().await;
}

async fn renew(client: Client, connected: Arc<Mutex<BTreeSet<usize>>>) {
    loop {
        let nodes = connected.lock().clone();
        for node in nodes {
            let renewed = json!({"spec": {"renewTime": format!("{:.6}", Timestamp::now())}});
            // One that fails is one of many.
            let _ = try_send(&client, "PATCH", &format!("{LEASES}/n{node}"), &renewed).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn node_lifecycle(cluster: &Cluster, flags: &[&str]) -> Process {
    let mut args = vec![
        format!("--kubeconfig={}", cluster.kubeconfig(User::Admin).display()),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
        "--controllers=node-lifecycle-controller".to_owned(),
    ];
    args.extend(flags.iter().map(|flag| (*flag).to_owned()));
    let program = binaries::servers().kube_controller_manager();
    let folder = cluster.folder().join("node-lifecycle");
    std::fs::create_dir(&folder).expect("a folder");
    Process::start("kube-controller-manager", &program, &folder, args)
}
