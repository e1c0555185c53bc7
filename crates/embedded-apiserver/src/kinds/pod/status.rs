//! The status of pods: `podStatusStrategy` and the parts of `ValidatePodStatusUpdate` that endpoints depend on.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::{checks, ip, metadata};
use crate::tree;

const STATUS: Path<'static> = Path::root("status");

/// Restores what an update of the status may not change, and what clients leave out.
pub(super) fn prepare(object: &mut Value, old: &Value) {
    tree::copy(object, "spec", old);
    let meta = tree::field_mut(object, "metadata");
    tree::remove(meta, "deletionTimestamp");
    tree::copy(meta, "ownerReferences", tree::field(old, "metadata"));
    let before = tree::field(old, "status");
    let status = tree::field_mut(object, "status");
    if tree::text(status, "qosClass").is_empty() {
        tree::copy(status, "qosClass", before);
    }
    if tree::int(status, "observedGeneration") == 0 {
        tree::copy(status, "observedGeneration", before);
    }
}

/// Checks a changed status.
pub(super) fn validate(object: &Value, old: &Value, errors: &mut Errors) {
    let (status, before) = (tree::field(object, "status"), tree::field(old, "status"));
    let path = STATUS.child("conditions");
    for (index, condition) in tree::list(status, "conditions").iter().enumerate() {
        let kind = tree::text(condition, "type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            checks::qualified(kind, &path.index(index).child("Type"), errors);
        }
    }
    let class = |status| tree::field(status, "qosClass");
    metadata::immutable(class(status), class(before), &STATUS.child("qosClass"), errors);
    let ips =
        |status, key| tree::list(status, key).iter().map(|one| tree::text(one, "ip")).collect::<Vec<_>>();
    validate_ips("podIPs", &ips(status, "podIPs"), &ips(before, "podIPs"), errors);
    let host_ips = ips(status, "hostIPs");
    if let Some(first) = host_ips.first()
        && *first != tree::text(status, "hostIP")
    {
        let path = STATUS.child("hostIPs");
        errors.invalid(&path.index(0).child("ip"), *first, "must be equal to `hostIP`");
    }
    validate_ips("hostIPs", &host_ips, &ips(before, "hostIPs"), errors);
}

/// `validatePodIPs` and `validateHostIPs`.
fn validate_ips(key: &str, ips: &[&str], before: &[&str], errors: &mut Errors) {
    let path = STATUS.child(key);
    for (index, text) in ips.iter().enumerate() {
        ip::check(errors, &path.index(index), text, before);
    }
    if ips.len() < 2 {
        return;
    }
    let mut is_dual = false;
    if let Some((index, bad)) = ips.iter().enumerate().find(|(_, text)| ip::parse(text).is_none()) {
        let detail = format!("failed to check for dual stack with error:invalid IP[{index}]: {bad}");
        errors.internal(&path, &detail);
    } else {
        let v6 = ips.iter().filter(|text| ip::is_v6(text)).count();
        is_dual = v6 > 0 && v6 < ips.len();
    }
    if !is_dual || ips.len() > 2 {
        // Upstream's internal struct has no JSON name.
        let shown = ips.iter().map(|ip| format!("{{\"IP\":{}}}", Value::from(*ip)));
        let shown = format!("[{}]", shown.collect::<Vec<_>>().join(","));
        errors.invalid(&path, shown, "may specify no more than one IP for each IP family");
    }
}

/// Texts about unusual addresses.
pub(super) fn warnings(object: &Value) -> Vec<String> {
    let status = tree::field(object, "status");
    let of_list = |key| {
        let addresses = tree::list(status, key).iter().enumerate();
        addresses.filter_map(move |(index, one)| {
            ip::warning(&STATUS.child(key).index(index).child("ip"), tree::text(one, "ip"))
        })
    };
    ["podIPs", "hostIPs"].into_iter().flat_map(of_list).collect()
}
