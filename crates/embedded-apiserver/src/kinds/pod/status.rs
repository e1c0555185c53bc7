//! The status of pods: `podStatusStrategy` and `ValidatePodStatusUpdate`.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::{checks, ip, metadata, tree};

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
    // Conditions of one type keep their generations by position.
    let mut generations: HashMap<&str, VecDeque<i64>> = HashMap::new();
    for condition in tree::list(before, "conditions") {
        let of_type = generations.entry(tree::text(condition, "type")).or_default();
        of_type.push_back(tree::int(condition, "observedGeneration"));
    }
    for condition in tree::list_mut(status, "conditions") {
        let kept = generations.get_mut(tree::text(condition, "type")).and_then(VecDeque::pop_front);
        if let Some(kept @ 1..) = kept
            && tree::int(condition, "observedGeneration") == 0
        {
            tree::set(condition, "observedGeneration", kept);
        }
    }
}

/// Checks a changed status.
pub(super) fn validate(object: &Value, old: &Value, errors: &mut Errors) {
    let (status, before) = (tree::field(object, "status"), tree::field(old, "status"));
    validate_conditions(status, errors);
    let nominated = tree::text(status, "nominatedNodeName");
    if !nominated.is_empty() && nominated != tree::text(before, "nominatedNodeName") {
        let path = STATUS.child("nominatedNodeName");
        checks::subdomain(nominated, &path, errors);
        if !tree::text(tree::field(old, "spec"), "nodeName").is_empty() {
            errors.forbidden(&path, "may not be set on pods that are already bound to a node");
        }
    }
    let generation = tree::int(status, "observedGeneration");
    if generation < 0 {
        errors.invalid(&STATUS.child("observedGeneration"), generation, "must be a non-negative integer");
    }
    let class = |status| tree::field(status, "qosClass");
    metadata::immutable(class(status), class(before), &STATUS.child("qosClass"), errors);
    let spec = tree::field(old, "spec");
    for (key, containers) in [
        ("containerStatuses", Some(tree::list(spec, "containers"))),
        ("initContainerStatuses", Some(tree::list(spec, "initContainers"))),
        ("ephemeralContainerStatuses", None),
    ] {
        let path = STATUS.child(key);
        let states = (tree::list(status, key), tree::list(before, key));
        validate_transitions(states, spec, containers, &path, errors);
    }
    let ips =
        |status, key| tree::list(status, key).iter().map(|one| tree::text(one, "ip")).collect::<Vec<_>>();
    validate_ips("podIPs", &ips(status, "podIPs"), &ips(before, "podIPs"), status, errors);
    let host_ips = ips(status, "hostIPs");
    if let Some(first) = host_ips.first()
        && *first != tree::text(status, "hostIP")
    {
        let path = STATUS.child("hostIPs");
        let path = path.index(0);
        errors.invalid(&path.child("ip"), *first, "must be equal to `hostIP`");
    }
    validate_ips("hostIPs", &host_ips, &ips(before, "hostIPs"), status, errors);
}

fn validate_conditions(status: &Value, errors: &mut Errors) {
    let path = STATUS.child("conditions");
    for (index, condition) in tree::list(status, "conditions").iter().enumerate() {
        let path = path.index(index);
        let generation = tree::int(condition, "observedGeneration");
        if generation < 0 {
            errors.invalid(&path.child("observedGeneration"), generation, "must be a non-negative integer");
        }
        let kind = tree::text(condition, "type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            checks::qualified(kind, &path.child("Type"), errors);
        }
    }
}

/// A container that has ended stays so, unless it is to be restarted. Ephemeral ones never are.
fn validate_transitions(
    (new, old): (&[Value], &[Value]),
    spec: &Value,
    containers: Option<&[Value]>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    if containers.is_some() && restarts_all(spec) {
        return;
    }
    for (index, before) in old.iter().enumerate() {
        let ended = tree::at(before, &["state", "terminated"]);
        if ended.is_null() {
            continue;
        }
        let name = tree::text(before, "name");
        let runs_again = |status: &&Value| {
            tree::text(status, "name") == name && tree::at(status, &["state", "terminated"]).is_null()
        };
        if new.iter().find(runs_again).is_none() {
            continue;
        }
        let container =
            containers.and_then(|all| all.iter().find(|container| tree::text(container, "name") == name));
        let may_restart =
            container.is_some_and(|container| restarts(container, spec, tree::int(ended, "exitCode")));
        if !may_restart {
            let path = path.index(index);
            errors.forbidden(&path.child("state"), "may not be transitioned to non-terminated state");
        }
    }
}

/// `AllContainersCouldRestart`.
fn restarts_all(spec: &Value) -> bool {
    let containers = tree::list(spec, "containers").iter().chain(tree::list(spec, "initContainers"));
    let mut rules = containers.flat_map(|container| tree::list(container, "restartPolicyRules"));
    rules.any(|rule| tree::text(rule, "action") == "RestartAllContainers")
}

/// `ContainerShouldRestart`.
fn restarts(container: &Value, spec: &Value, exit_code: i64) -> bool {
    let own = tree::maybe_text(container, "restartPolicy");
    if own.is_some() {
        let matching = tree::list(container, "restartPolicyRules").iter().find(|rule| {
            let codes = tree::field(rule, "exitCodes");
            let is_listed = tree::list(codes, "values").iter().any(|code| code.as_i64() == Some(exit_code));
            match tree::text(codes, "operator") {
                "In" => is_listed,
                "NotIn" => !is_listed,
                _ => false,
            }
        });
        if matching
            .is_some_and(|rule| matches!(tree::text(rule, "action"), "Restart" | "RestartAllContainers"))
        {
            return true;
        }
    }
    match own.unwrap_or_else(|| tree::text(spec, "restartPolicy")) {
        "OnFailure" => exit_code != 0,
        "Never" => false,
        _ => true,
    }
}

/// `validatePodIPs` and `validateHostIPs`.
fn validate_ips(key: &str, ips: &[&str], before: &[&str], status: &Value, errors: &mut Errors) {
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
        let all = tree::field(status, key);
        let shown = all.as_array().into_iter().flatten().map(|one| {
            // Upstream's internal struct has no JSON name.
            format!("{{\"IP\":{}}}", tree::field(one, "ip"))
        });
        let shown = format!("[{}]", shown.collect::<Vec<_>>().join(","));
        errors.invalid(&path, shown, "may specify no more than one IP for each IP family");
    }
}
