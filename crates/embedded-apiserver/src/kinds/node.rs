//! Nodes: `pkg/registry/core/node` and `ValidateNode`.

use serde_json::{Value, json};

use crate::status::Status;

use super::checks;
use super::content;
use super::field::{Errors, Path};
use super::go;
use super::ip;
use super::metadata;
use super::quantity;
use super::strategy::{Scope, Strategy};
use super::tree;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
const POD_CIDRS: Path<'static> = Path::root("spec.podCIDRs");

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
    fn admit(&self, _scope: &Scope<'_>, object: &mut Value, old: Option<&Value>) -> Result<(), Status> {
        if old.is_some() {
            return Ok(());
        }
        let spec = tree::field_mut(object, "spec");
        let is_it = |taint: &Value| {
            tree::text(taint, "key") == NOT_READY && tree::text(taint, "effect") == "NoSchedule"
        };
        if tree::list(spec, "taints").iter().any(is_it) {
            return Ok(());
        }
        let taint = json!({ "key": NOT_READY, "effect": "NoSchedule" });
        match tree::field_mut(spec, "taints") {
            Value::Array(taints) => taints.push(taint),
            other => *other = json!([taint]),
        }
        Ok(())
    }

    fn prepare_for_create(&self, _scope: &Scope<'_>, object: &mut Value) {
        drop_config(object);
    }

    fn prepare_for_update(&self, scope: &Scope<'_>, object: &mut Value, old: &Value) {
        let kept = if scope.subresource == "status" { "spec" } else { "status" };
        tree::copy(object, kept, old);
        drop_config(object);
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        validate(object, errors);
    }

    fn validate_update(&self, scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        if scope.subresource.is_empty() {
            validate(object, errors);
        }
        validate_update(object, old, errors);
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

/// Dynamic configuration of kubelets is no more.
fn drop_config(object: &mut Value) {
    if let Some(spec) = tree::present_mut(object, "spec") {
        tree::remove(spec, "configSource");
    }
    if let Some(status) = tree::present_mut(object, "status") {
        tree::remove(status, "config");
    }
}

fn validate(object: &Value, errors: &mut Errors) {
    metadata::validate_own(object, false, content::subdomain_name, errors);
    validate_taints(object, errors);
    validate_resources(object, errors);
    let swap = tree::at(object, &["status", "nodeInfo", "swap", "capacity"]);
    if let Some(capacity) = swap.as_i64().filter(|capacity| *capacity <= 0) {
        let path = Path::root("metadata.nodeSwapStatus.capacity");
        errors.invalid(&path, capacity, "must be greater than 0");
    }
    validate_features(object, errors);
    let spec = tree::field(object, "spec");
    let cidrs = tree::texts(spec, "podCIDRs");
    for (index, cidr) in cidrs.iter().enumerate() {
        ip::check_network(errors, &POD_CIDRS.index(index), cidr, &[]);
    }
    if cidrs.len() > 1 {
        let bad = cidrs.iter().enumerate().find(|(_, cidr)| ip::Network::parse(cidr).is_none());
        if let Some((index, cidr)) = bad {
            let detail = format!(
                "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: <nil> (invalid CIDR address: {cidr})"
            );
            errors.internal(&POD_CIDRS, &detail);
        }
        let v6 = cidrs.iter().filter(|cidr| cidr.contains(':')).count();
        if bad.is_some() || v6 == 0 || v6 == cidrs.len() || cidrs.len() > 2 {
            let all = tree::field(spec, "podCIDRs");
            errors.invalid(&POD_CIDRS, all, "may specify no more than one CIDR for each IP family");
        }
    }
}

fn validate_taints(object: &Value, errors: &mut Errors) {
    // Upstream's path is below the metadata.
    let path = Path::root("metadata.taints");
    let mut seen = Vec::new();
    for (index, taint) in tree::list(tree::field(object, "spec"), "taints").iter().enumerate() {
        let path = path.index(index);
        let (key, value) = (tree::text(taint, "key"), tree::text(taint, "value"));
        let effect = tree::text(taint, "effect");
        checks::qualified(key, &path.child("key"), errors);
        let messages = content::label_value(value);
        if !messages.is_empty() {
            errors.invalid(&path.child("value"), value, &messages.join(";"));
        }
        checks::one_of(effect, EFFECTS, &path.child("effect"), errors);
        if seen.contains(&(key, effect)) {
            // Upstream's internal struct has no JSON names.
            let quoted = |text: &str| go::json(&Value::from(text));
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}",
                quoted(key),
                quoted(value),
                quoted(effect),
                tree::field(taint, "timeAdded")
            );
            errors.duplicate_because(&path, shown, "taints must be unique by key and effect pair");
        } else {
            seen.push((key, effect));
        }
    }
}

fn validate_resources(object: &Value, errors: &mut Errors) {
    let status = tree::field(object, "status");
    let root = Path::root("status");
    for key in ["capacity", "allocatable"] {
        let path = root.child(key);
        for (name, amount) in tree::entries(status, key) {
            quantity::validate(name, amount, &path.child(name), errors);
        }
    }
}

fn validate_features(object: &Value, errors: &mut Errors) {
    let features = tree::texts(tree::field(object, "status"), "declaredFeatures");
    let path = Path::root("status.declaredFeatures");
    for (index, feature) in features.iter().enumerate() {
        let quoted = go::quote(feature);
        if feature.len() > 253 {
            let detail = format!("invalid feature name {quoted}: must be no more than 253 characters");
            errors.invalid(&path.index(index), *feature, &detail);
        } else if !is_feature(feature) {
            let detail = format!(
                "invalid feature name {quoted}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            );
            errors.invalid(&path.index(index), *feature, &detail);
        }
        if let Some(next) = features.get(index + 1) {
            let path = path.index(index + 1);
            if feature == next {
                errors.duplicate(&path, *next);
            } else if feature > next {
                errors.invalid(&path, *next, "list must be sorted alphabetically");
            }
        }
    }
}

fn is_feature(feature: &str) -> bool {
    feature.starts_with(|c: char| c.is_ascii_uppercase())
        && feature.split('/').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic())
                && part.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

fn validate_update(object: &Value, old: &Value, errors: &mut Errors) {
    metadata::validate_own_update(object, old, errors);
    validate_resources(object, errors);
    validate_features(object, errors);
    let path = Path::root("status.addresses");
    let mut seen = Vec::new();
    for (index, address) in tree::list(tree::field(object, "status"), "addresses").iter().enumerate() {
        if seen.contains(&address) {
            let shown = format!(
                "{{\"Type\":{},\"Address\":{}}}",
                go::json(&Value::from(tree::text(address, "type"))),
                go::json(&Value::from(tree::text(address, "address")))
            );
            errors.duplicate(&path.index(index), shown);
        }
        seen.push(address);
    }
    let (spec, before) = (tree::field(object, "spec"), tree::field(old, "spec"));
    let (new_cidrs, old_cidrs) = (tree::texts(spec, "podCIDRs"), tree::texts(before, "podCIDRs"));
    if !old_cidrs.is_empty() {
        const DETAIL: &str = "node updates may not change podCIDR except from \"\" to valid";
        if old_cidrs.len() == new_cidrs.len() {
            for _ in old_cidrs.iter().zip(&new_cidrs).filter(|(old, new)| old != new) {
                errors.forbidden(&POD_CIDRS, DETAIL);
            }
        } else {
            errors.forbidden(&POD_CIDRS, DETAIL);
        }
    }
    let (old_provider, provider) = (tree::text(before, "providerID"), tree::text(spec, "providerID"));
    if !old_provider.is_empty() && old_provider != provider {
        let verb = if provider.is_empty() { "cleared" } else { "modified" };
        let detail = format!("field cannot be {verb} once set");
        errors.invalid(&Path::root("spec.providerID"), &Value::Null, &detail);
    }
    validate_taints(object, errors);
    if tree::text(spec, "externalID") != tree::text(before, "externalID") {
        errors.forbidden(&Path::root("spec.externalID"), "may not be updated");
    }
}
