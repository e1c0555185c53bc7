//! Stand-ins for the scheduler and the kubelets, which do not run here.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU16, Ordering};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// The nodes of config/samples/nodes.yaml.
const NODES: [&str; 3] = ["ash", "birch", "cedar"];

/// The nodes, with the pods of a namespace on them.
#[derive(Debug)]
pub(crate) struct NodesAtWork {
    pods: Api<Pod>,
    started: AtomicU16,
}

impl NodesAtWork {
    pub(crate) fn new(client: Client, namespace: &str) -> Self {
        Self { pods: Api::namespaced(client, namespace), started: AtomicU16::new(0) }
    }

    /// Creates a pod, schedules it and makes it ready.
    pub(crate) async fn create(&self, pod: Pod) {
        let created = self.pods.create(&PostParams::default(), &pod).await.expect("creating a pod");
        let name = created.metadata.name.expect("a created pod has its name");
        self.start(&name).await;
        self.ready(&name, true).await;
    }

    /// Schedules a pod, which gets its addresses and runs, but isn't ready yet.
    pub(crate) async fn start(&self, name: &str) {
        let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
        let node = NODES[usize::from(number) % NODES.len()];
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let bound = self.pods.create_subresource("binding", name, &PostParams::default(), &binding).await;
        let _: Value = bound.unwrap_or_else(|error| panic!("binding pod {name}: {error}"));
        let [high, low] = number.to_be_bytes();
        let addresses = [
            Ipv4Addr::new(10, 244, high, low).to_string(),
            Ipv6Addr::new(0xfd00, 0x10, 0x244, 0, 0, 0, 0, number).to_string(),
        ];
        self.status(
            name,
            json!({
                "phase": "Running",
                "podIP": addresses[0],
                "podIPs": addresses.each_ref().map(|ip| json!({"ip": ip})),
                "conditions": conditions(false),
            }),
        )
        .await;
    }

    /// Changes the readiness of a pod.
    pub(crate) async fn ready(&self, name: &str, ready: bool) {
        self.status(name, json!({"conditions": conditions(ready)})).await;
    }

    /// Begins the deletion of a pod, which terminates for a while.
    pub(crate) async fn terminate(&self, name: &str) {
        self.delete(name, 30).await;
    }

    /// Removes a pod that has ended.
    pub(crate) async fn ended(&self, name: &str) {
        self.delete(name, 0).await;
    }

    async fn delete(&self, name: &str, grace_seconds: u32) {
        let deleted = self.pods.delete(name, &DeleteParams::default().grace_period(grace_seconds)).await;
        deleted.unwrap_or_else(|error| panic!("deleting pod {name}: {error}"));
    }

    async fn status(&self, name: &str, status: Value) {
        let change = Patch::Merge(json!({"status": status}));
        let changed = self.pods.patch_status(name, &PatchParams::default(), &change).await;
        changed.unwrap_or_else(|error| panic!("changing the status of pod {name}: {error}"));
    }
}

fn conditions(ready: bool) -> Value {
    json!([{
        "type": "Ready",
        "status": if ready { "True" } else { "False" },
        "lastTransitionTime": jiff::Timestamp::now(),
    }])
}
