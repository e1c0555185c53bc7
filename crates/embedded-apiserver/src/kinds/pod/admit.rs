//! Upstream's admission plugins that change pods: `PodTopologyLabels`, `Priority`, `DefaultTolerationSeconds`.

use serde_json::{Value, json};

use crate::kinds::strategy::Scope;
use crate::tree;

/// Labels that a pod takes over from its node.
const TOPOLOGY: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

pub(super) fn admit(scope: &Scope<'_>, object: &mut Value, old: Option<&Value>) {
    let node = tree::text(tree::field(object, "spec"), "nodeName").to_owned();
    if !node.is_empty() {
        copy_topology(scope, object, &node);
    }
    let spec = tree::field_mut(object, "spec");
    if let Some(old) = old {
        for key in ["priority", "preemptionPolicy"] {
            if !tree::has(spec, key) {
                tree::copy(spec, key, tree::field(old, "spec"));
            }
        }
    } else {
        let priority = match tree::text(spec, "priorityClassName") {
            "system-cluster-critical" => 2_000_000_000,
            "system-node-critical" => 2_000_001_000,
            _ => 0,
        };
        tree::set_default(spec, "priority", priority);
        tree::set_default(spec, "preemptionPolicy", "PreemptLowerPriority");
    }
    add_tolerations(spec);
}

/// Copies the topology labels of a node to a pod on it.
pub(super) fn copy_topology(scope: &Scope<'_>, object: &mut Value, node: &str) {
    let Some(labels) = scope.cluster.node_labels(node) else { return };
    for key in TOPOLOGY {
        if let Some(value) = tree::maybe_text(&labels, key) {
            let own = tree::field_mut(tree::field_mut(object, "metadata"), "labels");
            tree::set(own, key, value);
        }
    }
}

/// Lets pods stay on a lost node for five minutes.
fn add_tolerations(spec: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerates = |toleration: &Value| {
            [key, ""].contains(&tree::text(toleration, "key"))
                && ["NoExecute", ""].contains(&tree::text(toleration, "effect"))
        };
        if !tree::list(spec, "tolerations").iter().any(tolerates) {
            let toleration =
                json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
            tree::push(spec, "tolerations", toleration);
        }
    }
}
