//! Upstream's admission plugins that change pods: `PodTopologyLabels`, `Priority`, `DefaultTolerationSeconds`.

use serde_json::{Value, json};

use crate::kinds::strategy::Scope;
use crate::kinds::tree;

/// Labels that a pod takes over from its node.
const TOPOLOGY: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
const POLICY: &str = "PreemptLowerPriority";

pub(super) fn admit(scope: &Scope<'_>, object: &mut Value, old: Option<&Value>) {
    match old {
        None => {
            let node = tree::text(tree::field(object, "spec"), "nodeName").to_owned();
            copy_topology(scope, object, &node);
            fill_priority(tree::field_mut(object, "spec"));
        }
        Some(old) => {
            let (spec, before) = (tree::field_mut(object, "spec"), tree::field(old, "spec"));
            for key in ["priority", "preemptionPolicy"] {
                if !tree::has(spec, key) {
                    tree::copy(spec, key, before);
                }
            }
        }
    }
    add_tolerations(tree::field_mut(object, "spec"));
}

/// Copies the topology labels of a node to a pod that is created on it or bound to it. Later changes of either leave the pod as it
/// is (`PodTopologyLabels` handles no updates).
pub(super) fn copy_topology(scope: &Scope<'_>, object: &mut Value, node: &str) {
    let Some(labels) = scope.cluster.node_labels(node) else {
        return;
    };
    for key in TOPOLOGY {
        if let Some(value) = tree::maybe_text(&labels, key) {
            let own = tree::field_mut(tree::field_mut(object, "metadata"), "labels");
            tree::set(own, key, value);
        }
    }
}

/// Resolves the priority class: of the two that every cluster has. All others are as none.
fn fill_priority(spec: &mut Value) {
    let priority: i64 = match tree::text(spec, "priorityClassName") {
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        _ => 0,
    };
    tree::set(spec, "priority", priority);
    tree::set(spec, "preemptionPolicy", POLICY);
}

/// Lets pods stay on a lost node for five minutes.
fn add_tolerations(spec: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerates = |toleration: &Value| {
            [key, ""].contains(&tree::text(toleration, "key"))
                && ["NoExecute", ""].contains(&tree::text(toleration, "effect"))
        };
        if tree::list(spec, "tolerations").iter().any(tolerates) {
            continue;
        }
        let toleration =
            json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
        tree::push(spec, "tolerations", toleration);
    }
}
