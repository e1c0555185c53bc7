//! A partition between kubelets and the API server, with upstream's node lifecycle controller: all nodes become `Unknown`, and it
//! marks all pods as not ready. With the gate `EndpointsKeepReadyOnDisruption` nothing is written, whoever leads.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tests::audit::Mark;
use tests::barrier::workers_rest;
use tests::binaries;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::process::Process;
use tests::wait::{self, LIMIT};
use tokio::task::JoinHandle;
use tokio::time::Instant;

const NODES: usize = 6;
const PODS_PER_NODE: usize = 4;
const SERVICES: usize = 4;
/// The conditions of a Node beside Ready that the node lifecycle controller makes `Unknown`.
const PRESSURES: [&str; 3] = ["MemoryPressure", "DiskPressure", "PIDPressure"];
/// Withdraws the pods of a dead node once no others follow it.
const CONFIRMATION: &str = "--disruption-confirmation-period=40s";

/// A cluster whose kubelets are this test.
struct Partitioned {
    cluster: Cluster,
    client: Client,
    /// The nodes whose kubelets renew their Leases.
    renewing: Arc<Mutex<Vec<usize>>>,
    kubelets: JoinHandle<()>,
    created: Instant,
    _node_lifecycle: Process,
}

impl Drop for Partitioned {
    fn drop(&mut self) {
        self.kubelets.abort();
    }
}

fn now() -> String {
    format!("{:.0}", Timestamp::now())
}

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Value {
    let answer = try_send(client, method, path, body).await;
    answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

async fn try_send(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value, kube::Error> {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", content);
    let request = request.body(body.to_string().into_bytes()).expect("a request");
    client.request(request).await
}

fn lease(node: usize) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n{node}")
}

fn pod_path(pod: usize) -> String {
    format!("/api/v1/namespaces/default/pods/p{pod}")
}

impl Partitioned {
    async fn start() -> Self {
        let cluster = Box::pin(Cluster::start(ClusterOptions::default())).await;
        let client = cluster.client();
        wait::until("the namespace of Leases", LIMIT, async || {
            let request = http::Request::get("/api/v1/namespaces/kube-node-lease").body(Vec::new()).unwrap();
            client.request::<Value>(request).await
        })
        .await;
        let renewing = Arc::new(Mutex::new((0..NODES).collect::<Vec<_>>()));
        for node in 0..NODES {
            let spec = json!({"holderIdentity": format!("n{node}"), "leaseDurationSeconds": 40});
            let name = json!({"name": format!("n{node}")});
            send(&client, "POST", "/api/v1/nodes", &json!({"metadata": name})).await;
            let path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
            send(&client, "POST", path, &json!({"metadata": name, "spec": spec})).await;
        }
        let (renewals, leases) = (client.clone(), Arc::clone(&renewing));
        let kubelets = tokio::spawn(async move {
            loop {
                let nodes = leases.lock().clone();
                for node in nodes {
                    let renewed = json!({"spec": {"renewTime": format!("{:.6}", Timestamp::now())}});
                    // One that fails is one of many.
                    let _ = try_send(&renewals, "PATCH", &lease(node), &renewed).await;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        let args = [
            format!("--kubeconfig={}", cluster.kubeconfig(User::Admin).display()),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            "--controllers=node-lifecycle-controller".to_owned(),
            "--node-monitor-period=1s".to_owned(),
            "--node-monitor-grace-period=20s".to_owned(),
            "--node-startup-grace-period=60s".to_owned(),
        ];
        let program = binaries::servers().kube_controller_manager();
        let folder = cluster.folder().join("node-lifecycle");
        std::fs::create_dir(&folder).expect("a folder");
        let node_lifecycle = Process::start("kube-controller-manager", &program, &folder, args);
        let this = Self {
            cluster,
            client,
            renewing,
            kubelets,
            created: Instant::now(),
            _node_lifecycle: node_lifecycle,
        };
        this.workload().await;
        this
    }

    /// Services whose pods are ready, each with pods on all nodes.
    async fn workload(&self) {
        for node in 0..NODES {
            self.report_node(node).await;
        }
        for service in 0..SERVICES {
            let (name, selector) = (format!("web-{service}"), json!({"app": format!("web-{service}")}));
            let spec = json!({"selector": selector, "ports": [{"port": 80}]});
            let path = "/api/v1/namespaces/default/services";
            send(&self.client, "POST", path, &json!({"metadata": {"name": name}, "spec": spec})).await;
        }
        for pod in 0..NODES * PODS_PER_NODE {
            let labels = json!({"app": format!("web-{}", pod / NODES % SERVICES)});
            let containers = json!([{"name": "main", "image": "none"}]);
            let spec = json!({"nodeName": format!("n{}", pod % NODES), "containers": containers});
            let body = json!({"metadata": {"name": format!("p{pod}"), "labels": labels}, "spec": spec});
            send(&self.client, "POST", "/api/v1/namespaces/default/pods", &body).await;
            self.report_pod(pod).await;
        }
    }

    /// Patches the status of a Node as a kubelet that reaches the API server does.
    async fn report_node(&self, node: usize) {
        let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": now(), "lastTransitionTime": now()});
        let mut conditions: Vec<Value> =
            PRESSURES.iter().map(|kind| condition(kind, "False", "Fine")).collect();
        conditions.push(condition("Ready", "True", "KubeletReady"));
        let status = json!({"status": {"conditions": conditions, "allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}}});
        send(&self.client, "PATCH", &format!("/api/v1/nodes/n{node}/status"), &status).await;
    }

    /// Patches the status of a ready pod as its kubelet does.
    async fn report_pod(&self, pod: usize) {
        let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now()});
        let address = format!("10.1.0.{}", pod + 1);
        let status = json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [condition("Ready"), condition("ContainersReady")]});
        send(&self.client, "PATCH", &format!("{}/status", pod_path(pod)), &json!({"status": status})).await;
    }

    async fn pods_that_say_ready(&self) -> usize {
        let list = send(&self.client, "GET", "/api/v1/namespaces/default/pods", &Value::Null).await;
        let pods = list["items"].as_array().expect("pods");
        let is_ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
        pods.iter()
            .filter(|pod| pod["status"]["conditions"].as_array().is_some_and(|it| it.iter().any(is_ready)))
            .count()
    }

    async fn published(&self) -> usize {
        let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
        let list = send(&self.client, "GET", path, &Value::Null).await;
        let slices = list["items"].as_array().expect("slices").iter();
        let ours = slices.filter(|slice| slice["metadata"]["name"] != "kubernetes");
        ours.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten())
            .filter(|endpoint| endpoint["conditions"]["ready"] == true)
            .count()
    }

    /// Waits until that many pods say that they are ready.
    async fn wait_for_pods(&self, count: usize) {
        wait::until("the readiness of pods", LIMIT, async || match self.pods_that_say_ready().await {
            found if found == count => Ok(()),
            found => Err(format!("{found} of {count}")),
        })
        .await;
    }

    async fn wait_for_published(&self, count: usize) {
        wait::until("endpoints", LIMIT, async || match self.published().await {
            found if found == count => Ok(()),
            found => Err(format!("{found} of {count} are published")),
        })
        .await;
    }

    async fn manager(&self) -> Manager {
        let flags = ["--feature-gates=EndpointsKeepReadyOnDisruption=true", CONFIRMATION];
        let options = ManagerOptions {
            flags: flags.map(str::to_owned).to_vec(),
            ..ManagerOptions::of(Controller::ALL)
        };
        Manager::ours(&self.cluster, &options).await
    }

    /// The writes of our program.
    fn writes_since(&self, mark: Mark) -> Vec<String> {
        let writes = self.cluster.audit().writes_since(mark, User::EndpointControllers);
        writes.iter().map(|write| format!("{} {} {}", write.verb, write.resource, write.name)).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_withdraws_nothing_and_a_dead_node_does() {
    const ALL: usize = NODES * PODS_PER_NODE;
    let world = Box::pin(Partitioned::start()).await;
    let manager = world.manager().await;
    world.wait_for_published(ALL).await;

    let mark = world.cluster.audit().mark();
    world.renewing.lock().clear();
    world.wait_for_pods(0).await;
    assert_eq!(world.published().await, ALL);
    // Whoever begins to lead in the partition decides the same.
    drop(manager);
    let manager = world.manager().await;
    // A probe that fails counts: its Endpoints and its slice are written, and so what came before has been seen.
    let failing = |kind: &str| json!({"type": kind, "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": now()});
    let status = json!({"status": {"conditions": [failing("Ready"), failing("ContainersReady")]}});
    send(&world.client, "PATCH", &format!("{}/status", pod_path(0)), &status).await;
    world.wait_for_published(ALL - 1).await;

    // The way back, node by node; a node that is younger than a minute is not told from one that registers.
    tokio::time::sleep_until(world.created + Duration::from_secs(65)).await;
    for node in 0..NODES {
        world.renewing.lock().push(node);
        world.report_node(node).await;
    }
    for pod in 0..ALL {
        world.report_pod(pod).await;
    }
    world.wait_for_pods(ALL).await;
    world.wait_for_published(ALL).await;
    // Endpoints are written by another controller than slices.
    workers_rest(Controller::ALL, manager.pages()).await;
    let writes = world.writes_since(mark);
    assert_eq!(writes.len(), 4, "for one pod, out of both and back: {writes:#?}");

    // One dead node is one dead node.
    world.renewing.lock().retain(|node| *node != 0);
    world.wait_for_pods(ALL - PODS_PER_NODE).await;
    world.wait_for_published(ALL - PODS_PER_NODE).await;
}
