//! The work of the scheduler and the kubelets: nodes, addresses and readiness of pods.

use cli_runtime::input::object::{field, text};
use serde_json::{Map, Value, json};

use super::addresses::{Addresses, DualStack};

/// The nodes, in the order in which they get pods.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// Names and addresses.
    nodes: Vec<(String, String)>,
    next: usize,
}

impl Nodes {
    pub(crate) fn new<'a>(nodes: impl IntoIterator<Item = &'a Value>) -> Self {
        let node = |node: &Value| {
            let addresses = field(node, &["status", "addresses"]).and_then(Value::as_array);
            let internal = addresses.into_iter().flatten().find(|address| address["type"] == "InternalIP");
            let address = internal.map(|address| text(address, &["address"]).to_owned());
            (text(node, &["metadata", "name"]).to_owned(), address.unwrap_or_default())
        };
        Self { nodes: nodes.into_iter().map(node).collect(), next: 0 }
    }

    /// These nodes instead. As many are passed over as pods were scheduled before.
    pub(crate) fn replace<'a>(&mut self, nodes: impl IntoIterator<Item = &'a Value>) {
        self.nodes = Self::new(nodes).nodes;
    }

    /// Schedules a pod without a node: the nodes take turns. Without nodes, it stays without one.
    pub(crate) fn schedule(&mut self, pod: &mut Value) {
        if !text(pod, &["spec", "nodeName"]).is_empty() || self.nodes.is_empty() {
            return;
        }
        let turn = self.next % self.nodes.len();
        self.next += 1;
        if let (Some((name, _)), Some(Value::Object(spec))) = (self.nodes.get(turn), pod.get_mut("spec")) {
            spec.insert("nodeName".into(), name.as_str().into());
        }
    }

    /// The address of the node of a pod; empty if unknown.
    pub(crate) fn address_of(&self, pod: &Value) -> &str {
        let name = text(pod, &["spec", "nodeName"]);
        self.nodes.iter().find(|(node, _)| node == name).map_or("", |(_, address)| address)
    }
}

/// The state of scheduler and kubelets.
#[derive(Default)]
pub(crate) struct Kubelets {
    pub(crate) nodes: Nodes,
    pub(crate) addresses: Addresses,
    pub(crate) dual_stack: DualStack,
}

impl Kubelets {
    /// Schedules a pod, and returns its status.
    pub(crate) fn start(&mut self, pod: &mut Value) -> Value {
        self.nodes.schedule(pod);
        let addresses = self.addresses.next(self.dual_stack.includes(pod));
        ready(pod, &addresses, self.nodes.address_of(pod), &now())
    }
}

/// The time as the API writes it.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Makes a Node ready if nothing says whether it is, as in a manifest.
pub(crate) fn start(node: &mut Value) {
    if field(node, &["status", "conditions"]).is_some() {
        return;
    }
    let ready =
        json!({"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": now()});
    let Some(fields) = node.as_object_mut() else { return };
    let status = fields.entry("status").or_insert_with(|| json!({}));
    if let Some(status) = status.as_object_mut() {
        status.insert("conditions".into(), json!([ready]));
    }
}

/// True if nothing has set the status of a pod, as in a manifest.
pub(crate) fn needs_status(pod: &Value) -> bool {
    let status = field(pod, &["status"]).and_then(Value::as_object);
    let is_set = |status: &Map<String, Value>| {
        ["podIP", "podIPs", "conditions"].iter().any(|key| status.contains_key(*key))
            || status.get("phase").is_some_and(|phase| phase != "Pending")
    };
    !status.is_some_and(is_set)
}

/// The status of a running and ready pod.
fn ready(pod: &Value, addresses: &[String], host: &str, now: &str) -> Value {
    let condition = |kind: &&str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
    let conditions: Vec<Value> =
        ["PodScheduled", "Initialized", "ContainersReady", "Ready"].iter().map(condition).collect();
    let containers = field(pod, &["spec", "containers"]).and_then(Value::as_array);
    let container = |container: &Value| {
        json!({
            "name": text(container, &["name"]), "image": text(container, &["image"]), "imageID": "",
            "ready": true, "started": true, "restartCount": 0, "state": {"running": {"startedAt": now}},
        })
    };
    let mut status = json!({
        "phase": "Running",
        "startTime": now,
        "podIP": addresses.first(),
        "podIPs": addresses.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>(),
        "conditions": conditions,
        "containerStatuses": containers.into_iter().flatten().map(container).collect::<Vec<_>>(),
    });
    if let (false, Some(fields)) = (host.is_empty(), status.as_object_mut()) {
        fields.insert("hostIP".into(), host.into());
        fields.insert("hostIPs".into(), json!([{"ip": host}]));
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_take_turns() {
        let node = |name: &str, ip: &str| {
            json!({"metadata": {"name": name}, "status": {"addresses": [
                {"type": "Hostname", "address": name}, {"type": "InternalIP", "address": ip}]}})
        };
        let mut nodes = Nodes::new(&[node("a", "192.0.2.1"), node("b", "192.0.2.2")]);
        let mut scheduled = |mut pod: Value| {
            nodes.schedule(&mut pod);
            (pod["spec"]["nodeName"].as_str().unwrap().to_owned(), nodes.address_of(&pod).to_owned())
        };
        let pod = json!({"spec": {}});
        assert_eq!(scheduled(pod.clone()), ("a".to_owned(), "192.0.2.1".to_owned()));
        assert_eq!(scheduled(json!({"spec": {"nodeName": "z"}})), ("z".to_owned(), String::new()));
        assert_eq!(scheduled(pod.clone()).0, "b");
        assert_eq!(scheduled(pod).0, "a");
        let mut alone = json!({"spec": {}});
        Nodes::default().schedule(&mut alone);
        assert_eq!(alone, json!({"spec": {}}));
    }

    #[test]
    fn a_status_in_the_manifest_is_kept() {
        assert!(needs_status(&json!({})));
        assert!(needs_status(&json!({"status": {}})));
        assert!(needs_status(&json!({"status": {"phase": "Pending"}})));
        assert!(!needs_status(&json!({"status": {"phase": "Failed"}})));
        assert!(!needs_status(&json!({"status": {"podIPs": [{"ip": "10.0.0.1"}]}})));
    }

    #[test]
    fn a_ready_pod_has_its_addresses() {
        let addresses = ["10.0.0.1".to_owned(), "fd00::1".to_owned()];
        let pod = json!({"spec": {"containers": [{"name": "main", "image": "nginx"}]}});
        let status = ready(&pod, &addresses, "192.0.2.1", "2026-01-01T00:00:00Z");
        assert_eq!(status["podIP"], "10.0.0.1");
        assert_eq!(status["podIPs"], json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]));
        assert_eq!(status["hostIP"], "192.0.2.1");
        assert_eq!(status["containerStatuses"][0]["name"], "main");
        assert_eq!(ready(&pod, &addresses, "", "").get("hostIP"), None);
    }
}
