//! The binding of a pod to a node: `BindingREST` in `pkg/registry/core/pod/storage`.

use serde_json::{Value, json};

use crate::kinds::field::{Errors, Path};
use crate::kinds::strategy::Scope;
use crate::kinds::{checks, go, metadata, tree};
use crate::status::Status;

use super::admit;

/// Binds a stored pod to the node that a `Binding` names. The caller commits the pod with its usual loop; preconditions
/// are the uid and resourceVersion of the binding's metadata.
/// Errors: the binding is malformed, or the pod is bound already, is being deleted, or is gated.
pub(crate) fn bind(scope: &Scope<'_>, pod: &mut Value, binding: &Value) -> Result<(), Status> {
    let target = tree::field(binding, "target");
    let node = tree::text(target, "name");
    let name = tree::text(tree::field(pod, "metadata"), "name").to_owned();
    let mut errors = Errors::default();
    if !matches!(tree::text(target, "kind"), "" | "Node") {
        let kind = tree::text(target, "kind");
        errors.not_supported(&Path::root("target.kind"), kind, &["Node", "<empty>"]);
    }
    if node.is_empty() {
        errors.required(&Path::root("target.name"), "");
    } else if errors.is_empty() {
        checks::subdomain(node, &Path::root("target.name"), &mut errors);
    }
    if !errors.is_empty() {
        // Upstream returns the checks as a plain error.
        return Err(Status::new(500, "", errors.to_string()));
    }
    let refuse = |reason: &str| Err(Status::conflict("", "pods/binding", &name, reason));
    if tree::has(tree::field(pod, "metadata"), "deletionTimestamp") {
        return refuse(&format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let spec = tree::field(pod, "spec");
    let before = tree::text(spec, "nodeName");
    if !before.is_empty() {
        return refuse(&format!("pod {name} is already assigned to node {}", go::quote(before)));
    }
    if !tree::list(spec, "schedulingGates").is_empty() {
        return refuse(&format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    tree::set(tree::field_mut(pod, "spec"), "nodeName", node);
    merge(pod, binding, "annotations");
    merge(pod, binding, "labels");
    if tree::text(target, "kind") == "Node" {
        admit::copy_topology(scope, pod, node);
    }
    set_scheduled(scope, pod);
    Ok(())
}

fn merge(pod: &mut Value, binding: &Value, key: &str) {
    for (name, value) in tree::entries(tree::field(binding, "metadata"), key) {
        let own = tree::field_mut(tree::field_mut(pod, "metadata"), key);
        tree::set(own, name, value.clone());
    }
}

/// Sets the condition `PodScheduled` to true.
fn set_scheduled(scope: &Scope<'_>, pod: &mut Value) {
    let status = tree::field_mut(pod, "status");
    tree::remove(status, "nominatedNodeName");
    let mut condition = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": metadata::timestamp(scope.environment.now()),
    });
    let before =
        tree::list_mut(status, "conditions").iter_mut().find(|one| tree::text(one, "type") == "PodScheduled");
    if let Some(before) = before {
        if tree::text(before, "status") == "True" {
            tree::copy(&mut condition, "lastTransitionTime", before);
        }
        *before = condition;
        return;
    }
    tree::push(status, "conditions", condition);
}
