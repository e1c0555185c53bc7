//! Changes of Services: what clients may leave out, what a change of type clears, and what may not change.

use serde_json::{Value, json};

use crate::kinds::field::{Errors, Path};
use crate::kinds::tree;

use super::families::SINGLE;
use super::spec::Spec;

const CLUSTER_IP: Path<'static> = Path::root("spec.clusterIPs");
const FAMILY: Path<'static> = Path::root("spec.ipFamilies");
const POLICY: Path<'static> = Path::root("spec.ipFamilyPolicy");

/// Makes `clusterIP` and `clusterIPs` agree for clients that know only one of them (`normalizeClusterIPs`).
pub(super) fn normalize_cluster_ips(object: &mut Value, old: Option<&Value>) {
    let Some(spec) = tree::present_mut(object, "spec") else {
        return;
    };
    let single = Spec(spec).cluster_ip().to_owned();
    let Some(old) = old.map(Spec::of) else {
        if !single.is_empty() && Spec(spec).cluster_ips().is_empty() {
            tree::set(spec, "clusterIPs", json!([single]));
        }
        return;
    };
    if !old.cluster_ips().is_empty() && Spec(spec).cluster_ips().is_empty() && old.cluster_ip() == single {
        tree::copy(spec, "clusterIPs", old.0);
    }
    if old.cluster_ip() == single || !Spec(spec).has_same_cluster_ips(old) {
        return;
    }
    if single.is_empty() {
        tree::remove(spec, "clusterIPs");
    } else {
        tree::set(spec, "clusterIPs", json!([single]));
    }
}

/// Restores allocated values that the client left out (`patchAllocatedValues`).
pub(super) fn patch_allocated(object: &mut Value, old: &Value) {
    let spec = tree::field_mut(object, "spec");
    let old = Spec::of(old);
    if !old.is_external_name() && !Spec(spec).is_external_name() {
        if Spec(spec).cluster_ip().is_empty() {
            tree::copy(spec, "clusterIP", old.0);
        }
        if Spec(spec).cluster_ips().is_empty() && !old.cluster_ips().is_empty() {
            tree::copy(spec, "clusterIPs", old.0);
        }
    }
    if old.allocates_node_ports() && Spec(spec).allocates_node_ports() {
        patch_node_ports(spec, old);
    }
    let has_check = old.needs_health_check() && Spec(spec).needs_health_check();
    if has_check && Spec(spec).health_check_port() == 0 {
        tree::copy(spec, "healthCheckNodePort", old.0);
    }
}

/// Gives ports without node port the one that the stored port of the same name has, unless another port has it now.
fn patch_node_ports(spec: &mut Value, old: Spec<'_>) {
    let used = Spec(spec).node_ports();
    for port in tree::list_mut(spec, "ports") {
        if tree::int(port, "nodePort") != 0 {
            continue;
        }
        let name = tree::text(port, "name");
        let before = old.ports().iter().rev().find(|before| tree::text(before, "name") == name);
        let number = before.map_or(0, |before| tree::int(before, "nodePort"));
        if number != 0 && !used.contains(&number) {
            tree::set(port, "nodePort", number);
        }
    }
}

/// Clears fields that the new type does not have, if the client left them as they were (`dropTypeDependentFields`).
pub(super) fn drop_type_dependent(object: &mut Value, old: &Value) {
    let is_balancer = Spec::of(object).service_type() == "LoadBalancer";
    let old = Spec::of(old);
    let spec = tree::field_mut(object, "spec");
    if !old.is_external_name() && Spec(spec).is_external_name() {
        if Spec(spec).cluster_ip() == old.cluster_ip() && Spec(spec).has_same_cluster_ips(old) {
            tree::remove(spec, "clusterIP");
            tree::remove(spec, "clusterIPs");
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if Spec(spec).is_same(old, key) {
                tree::remove(spec, key);
            }
        }
    }
    if old.has_node_ports() && !Spec(spec).has_node_ports() {
        let before = old.node_ports();
        if Spec(spec).node_ports().iter().all(|port| before.contains(port)) {
            for port in tree::list_mut(spec, "ports") {
                tree::remove(port, "nodePort");
            }
        }
    }
    if old.needs_health_check() && !Spec(spec).needs_health_check() {
        remove_if_same(spec, old, "healthCheckNodePort");
    }
    if old.service_type() == "LoadBalancer" && !is_balancer {
        remove_if_same(spec, old, "allocateLoadBalancerNodePorts");
        remove_if_same(spec, old, "loadBalancerClass");
    }
    if old.is_externally_accessible() && !Spec(spec).is_externally_accessible() {
        remove_if_same(spec, old, "externalTrafficPolicy");
    }
    if !is_balancer {
        tree::set(tree::field_mut(object, "status"), "loadBalancer", json!({}));
    }
}

fn remove_if_same(spec: &mut Value, old: Spec<'_>, key: &str) {
    if Spec(spec).is_same(old, key) {
        tree::remove(spec, key);
    }
}

/// Checks what may not change.
pub(super) fn validate(new: Spec<'_>, old: Spec<'_>, errors: &mut Errors) {
    if !new.is_external_name() && !old.is_external_name() {
        validate_cluster_ips(new, old, errors);
        validate_families(new, old, errors);
    }
}

fn validate_cluster_ips(new: Spec<'_>, old: Spec<'_>, errors: &mut Errors) {
    if new.is_headless() && old.is_headless() {
        return;
    }
    let all = tree::field(new.0, "clusterIPs");
    let (now, before) = (new.cluster_ips(), old.cluster_ips());
    if now.len() == before.len() {
        for (index, _) in now.iter().zip(&before).enumerate().filter(|(_, (now, before))| now != before) {
            errors.invalid(&CLUSTER_IP.index(index), all, "may not change once set");
        }
        return;
    }
    if now.is_empty() {
        errors.invalid(&CLUSTER_IP.index(0), all, "primary clusterIP can not be unset");
    }
    if let (Some(now), Some(before)) = (now.first(), before.first())
        && now != before
    {
        errors.invalid(&CLUSTER_IP.index(0), all, "may not change once set");
    }
    if now.len() == 1 && before.len() > 1 && new.policy() != SINGLE {
        let policy = tree::field(new.0, "ipFamilyPolicy");
        errors.invalid(
            &POLICY,
            policy,
            "must be set to 'SingleStack' when releasing the secondary clusterIP",
        );
    }
}

fn validate_families(new: Spec<'_>, old: Spec<'_>, errors: &mut Errors) {
    if new.is_headless() || old.is_headless() {
        return;
    }
    let (families, ips) = (tree::field(new.0, "ipFamilies"), tree::field(new.0, "clusterIPs"));
    let (now, before) = (new.families(), old.families());
    if now.len() == before.len() {
        for _ in now.iter().zip(&before).filter(|(now, before)| now != before) {
            errors.invalid(&FAMILY.index(0), families, "may not change once set");
        }
        return;
    }
    if now.len() < before.len() && new.cluster_ips().is_empty() {
        errors.invalid(&FAMILY.index(0), families, "primary ipFamily can not be unset");
    }
    if let (Some(now), Some(before)) = (now.first(), before.first())
        && now != before
    {
        // Upstream shows the addresses here.
        errors.invalid(&FAMILY.index(0), ips, "may not change once set");
    }
    if now.len() == 1 && before.len() > 1 && new.policy() != SINGLE {
        let policy = tree::field(new.0, "ipFamilyPolicy");
        errors.invalid(&POLICY, policy, "must be set to 'SingleStack' when releasing the secondary ipFamily");
    }
}
