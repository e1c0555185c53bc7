//! Nodes: `pkg/registry/core/node`. Only their metadata is checked.

use serde_json::{Value, json};

use super::content;
use super::field::Errors;
use super::metadata;
use super::strategy::{Scope, Strategy};
use super::tree;

const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// The rules of Nodes.
pub(super) struct Node;

impl Strategy for Node {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = tree::present_mut(object, "spec") {
            sync_cidrs(spec);
        }
        if let Some(status) = tree::present_mut(object, "status")
            && !tree::has(status, "allocatable")
            && tree::has(status, "capacity")
        {
            let capacity = tree::field(status, "capacity").clone();
            tree::set(status, "allocatable", capacity);
        }
    }

    /// Taints new nodes, as the admission plugin `TaintNodesByCondition` does.
    fn admit(&self, _scope: &Scope<'_>, object: &mut Value, old: Option<&Value>) {
        if old.is_some() {
            return;
        }
        let spec = tree::field_mut(object, "spec");
        let is_it = |taint: &Value| {
            tree::text(taint, "key") == NOT_READY && tree::text(taint, "effect") == "NoSchedule"
        };
        if !tree::list(spec, "taints").iter().any(is_it) {
            tree::push(spec, "taints", json!({ "key": NOT_READY, "effect": "NoSchedule" }));
        }
    }

    fn prepare_for_update(&self, scope: &Scope<'_>, object: &mut Value, old: &Value) {
        let kept = if scope.subresource == "status" { "spec" } else { "status" };
        tree::copy(object, kept, old);
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        metadata::validate_own(object, false, content::subdomain_name, errors);
    }

    fn validate_update(&self, scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        if scope.subresource.is_empty() {
            self.validate(scope, object, errors);
        }
        metadata::validate_own_update(object, old, errors);
    }
}

/// `podCIDR` is the first of `podCIDRs`. If both are given and differ, `podCIDR` wins.
fn sync_cidrs(spec: &mut Value) {
    let cidr = tree::text(spec, "podCIDR");
    let first = tree::texts(spec, "podCIDRs").first().copied();
    match (cidr, first) {
        ("", Some(first)) if !first.is_empty() => {
            let first = first.to_owned();
            tree::set(spec, "podCIDR", first);
        }
        ("", _) => {}
        (cidr, first) if first != Some(cidr) => {
            let cidrs = json!([cidr]);
            tree::set(spec, "podCIDRs", cidrs);
        }
        _ => {}
    }
}
