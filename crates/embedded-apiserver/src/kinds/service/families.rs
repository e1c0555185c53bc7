//! The IP families of a Service: `initIPFamilyFields` and `ValidateServiceClusterIPsRelatedFields`.

use serde_json::{Value, json};

use crate::kinds::field::{Errors, Path};
use crate::kinds::ip::{self, Network};
use crate::kinds::tree;

use super::spec::Spec;

pub(super) const SINGLE: &str = "SingleStack";
pub(super) const PREFER_DUAL: &str = "PreferDualStack";
pub(super) const REQUIRE_DUAL: &str = "RequireDualStack";
const POLICIES: &[&str] = &[PREFER_DUAL, REQUIRE_DUAL, SINGLE];
const FAMILIES: &[&str] = &["IPv4", "IPv6"];

/// The family of a network.
pub(super) fn family_of(network: &Network) -> &'static str {
    if network.address.is_ipv4() { "IPv4" } else { "IPv6" }
}

fn other(family: &str) -> &'static str {
    if family == "IPv4" { "IPv6" } else { "IPv4" }
}

/// True if nothing of a Service that prefers two families changed: it keeps what it has, even if the cluster changed.
pub(super) fn is_unchanged_preference(new: Spec<'_>, old: Spec<'_>) -> bool {
    !new.policy().is_empty()
        && new.service_type() == old.service_type()
        && matches!(new.service_type(), "ClusterIP" | "NodePort" | "LoadBalancer")
        && new.policy() == PREFER_DUAL
        && matches!(old.policy(), "" | PREFER_DUAL)
        && new.has_same_cluster_ips(old)
        && new.has_same_families(old)
}

/// Fills `ipFamilyPolicy` and `ipFamilies`. The cluster has networks of both families.
pub(super) fn fill(spec: &mut Value, old: Option<Spec<'_>>) -> Result<(), Errors> {
    if Spec(spec).is_external_name() || old.is_some_and(|old| is_unchanged_preference(Spec(spec), old)) {
        return Ok(());
    }
    fill_policy(spec, old);
    let mut errors = Errors::default();
    validate(Spec(spec), old, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    if let Some(old) = old {
        reduce(spec, old, &mut errors);
    }
    check_policy(Spec(spec), &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    infer(spec);
    complete(spec);
    Ok(())
}

const POLICY: Path<'static> = Path::root("spec.ipFamilyPolicy");
const IP_FAMILIES: Path<'static> = Path::root("spec.ipFamilies");
const CLUSTER_IPS: Path<'static> = Path::root("spec.clusterIPs");

fn fill_policy(spec: &mut Value, old: Option<Spec<'_>>) {
    if tree::has(spec, "ipFamilyPolicy") {
        return;
    }
    let before = old.map(Spec::policy).unwrap_or_default();
    let policy = if !before.is_empty() {
        before
    } else if Spec(spec).cluster_ip() == "None" && !Spec(spec).has_selector() {
        REQUIRE_DUAL
    } else {
        SINGLE
    };
    tree::set(spec, "ipFamilyPolicy", policy);
}

/// Gives up the second family if the policy says so and the client left the lists as they were.
fn reduce(spec: &mut Value, old: Spec<'_>, errors: &mut Errors) {
    if Spec(spec).policy() == SINGLE {
        let same_ips = Spec(spec).has_same_cluster_ips(old);
        let same_families = Spec(spec).has_same_families(old);
        for (key, is_same) in [("clusterIPs", same_ips), ("ipFamilies", same_families)] {
            if is_same && let Some(Value::Array(items)) = tree::present_mut(spec, key) {
                items.truncate(1);
            }
        }
        return;
    }
    let reduced = |key: &str| {
        let now = tree::list(spec, key).len();
        now > 0 && now < tree::list(old.0, key).len()
    };
    let policy = tree::field(spec, "ipFamilyPolicy");
    if reduced("clusterIPs") {
        errors.invalid(&POLICY, policy, "must be 'SingleStack' to release the secondary cluster IP");
    }
    if reduced("ipFamilies") {
        errors.invalid(&POLICY, policy, "must be 'SingleStack' to release the secondary IP family");
    }
}

fn check_policy(spec: Spec<'_>, errors: &mut Errors) {
    if spec.policy() != SINGLE {
        return;
    }
    for (count, what) in [(spec.cluster_ips().len(), "cluster IPs"), (spec.families().len(), "IP families")] {
        if count == 2 {
            let detail =
                format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            errors.invalid(&POLICY, Value::from(SINGLE), &detail);
        }
    }
}

/// Appends the families of the cluster IPs that have none.
fn infer(spec: &mut Value) {
    let known = Spec(spec).families().len();
    let mut inferred = Vec::new();
    for (index, ip) in Spec(spec).cluster_ips().into_iter().enumerate() {
        if ip == "None" {
            break;
        }
        if index < known + inferred.len() {
            continue;
        }
        inferred.push(if ip::is_v6(ip) { "IPv6" } else { "IPv4" });
    }
    for family in inferred {
        tree::push(spec, "ipFamilies", family);
    }
}

/// Makes the list of families complete: IPv4 if it is empty, and the second if there must be two.
fn complete(spec: &mut Value) {
    if Spec(spec).families().is_empty() {
        tree::set(spec, "ipFamilies", json!(["IPv4"]));
    }
    let wants_two = Spec(spec).policy() != SINGLE;
    if let ([family], true) = (Spec(spec).families().as_slice(), wants_two) {
        let second = other(family);
        tree::push(spec, "ipFamilies", second);
    }
}

/// `ValidateServiceClusterIPsRelatedFields`.
pub(super) fn validate(spec: Spec<'_>, old: Option<Spec<'_>>, errors: &mut Errors) {
    if spec.is_external_name() {
        return;
    }
    let all = tree::field(spec.0, "clusterIPs");
    let ips = spec.cluster_ips();
    match (spec.cluster_ip(), ips.first()) {
        ("", None) => {}
        ("", Some(_)) => errors.invalid(&CLUSTER_IPS, all, "must be empty when `clusterIP` is not specified"),
        (_, None) => errors.required(&CLUSTER_IPS, ""),
        (ip, Some(first)) if ip != *first => {
            errors.invalid(&CLUSTER_IPS, all, "first value must match `clusterIP`");
        }
        _ => {}
    }
    let families = spec.families();
    for (index, family) in families.iter().enumerate() {
        let path = IP_FAMILIES.index(index);
        if !FAMILIES.contains(family) {
            errors.not_supported(&path, Value::from(*family), FAMILIES);
        }
        if families.iter().take(index).any(|before| before == family) {
            errors.duplicate(&path, Value::from(*family));
        }
    }
    if tree::has(spec.0, "ipFamilyPolicy") && !POLICIES.contains(&spec.policy()) {
        errors.not_supported(&POLICY, Value::from(spec.policy()), POLICIES);
    }
    if !validate_ips(&ips, all, old, errors) {
        return;
    }
    let v6 = ips.iter().filter(|ip| ip::is_v6(ip)).count();
    if ips.len() > 1 && (v6 == 0 || v6 == ips.len()) {
        errors.invalid(&CLUSTER_IPS, all, "may specify no more than one IP for each IP family");
    }
    if spec.is_headless() {
        return;
    }
    for (index, (ip, family)) in ips.iter().zip(&families).enumerate() {
        if (*family == "IPv4" && ip::is_v6(ip)) || (*family == "IPv6" && !ip::is_v6(ip)) {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            errors.invalid(&CLUSTER_IPS.index(index), *ip, &detail);
        }
    }
}

/// Checks the addresses one by one. Says whether all are valid, so that they can be compared.
fn validate_ips(ips: &[&str], all: &Value, old: Option<Spec<'_>>, errors: &mut Errors) -> bool {
    let before = old.map(Spec::cluster_ips).unwrap_or_default();
    let mut is_valid = true;
    for (index, text) in ips.iter().enumerate() {
        if index == 0 && *text == "None" {
            if ips.len() > 1 {
                is_valid = false;
                errors.invalid(&CLUSTER_IPS, all, "'None' must be the first and only value");
            }
            continue;
        }
        is_valid &= ip::check(errors, &CLUSTER_IPS.index(index), text, &before);
    }
    if ips.len() > 2 {
        errors.invalid(&CLUSTER_IPS, all, "may only hold up to 2 values");
    }
    is_valid
}
