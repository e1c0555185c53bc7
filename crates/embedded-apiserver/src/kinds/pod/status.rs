//! The status of pods: `podStatusStrategy`, and of `ValidatePodStatusUpdate` the addresses.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::{ip, tree};

const IPS: Path<'static> = Path::root("status.podIPs");

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

/// `validatePodIPs`.
pub(super) fn validate(object: &Value, old: &Value, errors: &mut Errors) {
    let all = tree::at(object, &["status", "podIPs"]);
    let (ips, before) = (texts(object), texts(old));
    for (index, text) in ips.iter().enumerate() {
        ip::check(errors, &IPS.index(index), text, &before);
    }
    if ips.len() < 2 {
        return;
    }
    let mut is_dual = false;
    if let Some((index, bad)) = ips.iter().enumerate().find(|(_, text)| ip::parse(text).is_none()) {
        let detail = format!("failed to check for dual stack with error:invalid IP[{index}]: {bad}");
        errors.internal(&IPS, &detail);
    } else {
        let v6 = ips.iter().filter(|text| ip::is_v6(text)).count();
        is_dual = v6 > 0 && v6 < ips.len();
    }
    if !is_dual || ips.len() > 2 {
        let shown = all.as_array().into_iter().flatten().map(|one| {
            // Upstream's internal struct has no JSON name.
            format!("{{\"IP\":{}}}", tree::field(one, "ip"))
        });
        let shown = format!("[{}]", shown.collect::<Vec<_>>().join(","));
        errors.invalid(&IPS, shown, "may specify no more than one IP for each IP family");
    }
}

/// The addresses of a pod.
fn texts(object: &Value) -> Vec<&str> {
    let ips = tree::list(tree::field(object, "status"), "podIPs");
    ips.iter().map(|one| tree::text(one, "ip")).collect()
}
