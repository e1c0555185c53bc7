//! Upstream's admission plugins that change pods: `PodTopologyLabels`, `Priority`, `DefaultTolerationSeconds`,
//! `RuntimeClass`.

use serde_json::{Value, json};

use crate::kinds::strategy::Scope;
use crate::kinds::tree;
use crate::status::Status;

/// Labels that a pod takes over from its node.
const TOPOLOGY: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
const POLICY: &str = "PreemptLowerPriority";

pub(super) fn admit(scope: &Scope<'_>, object: &mut Value, old: Option<&Value>) -> Result<(), Status> {
    match old {
        None => {
            let node = tree::text(tree::field(object, "spec"), "nodeName").to_owned();
            copy_topology(scope, object, &node);
            fill_priority(object).map_err(|reason| refuse(object, &reason))?;
            check_runtime_class(object)?;
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
    Ok(())
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

/// Resolves the priority class: the two that every cluster has, or none.
fn fill_priority(object: &mut Value) -> Result<(), String> {
    let spec = tree::field_mut(object, "spec");
    let class = tree::text(spec, "priorityClassName");
    let priority: i64 = match class {
        "" => 0,
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        other => return Err(format!("no PriorityClass with name {other} was found")),
    };
    tree::set(spec, "priority", priority);
    tree::set(spec, "preemptionPolicy", POLICY);
    Ok(())
}

/// There are no runtime classes.
fn check_runtime_class(object: &Value) -> Result<(), Status> {
    match tree::maybe_text(tree::field(object, "spec"), "runtimeClassName") {
        Some(class) => Err(refuse(object, &format!("pod rejected: RuntimeClass \"{class}\" not found"))),
        None => Ok(()),
    }
}

fn refuse(object: &Value, reason: &str) -> Status {
    let meta = tree::field(object, "metadata");
    let name = match tree::text(meta, "name") {
        "" => tree::text(meta, "generateName"),
        name => name,
    };
    Status::forbidden("", "pods", name, reason)
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
