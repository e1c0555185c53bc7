//! `ValidatePodSpec`. Affinity to other pods, DNS options and the details of volumes are stored unchecked.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::{checks, content, ip, metadata, tree};

use super::{annotations, containers, scheduling, security, volumes};

const DNS: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// The owner of a pod spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Pod,
    Template,
}

/// Checks a pod spec at the path.
pub(super) fn validate(spec: &Value, path: &Path<'_>, of: Of, errors: &mut Errors) {
    let grace = tree::maybe_int(spec, "terminationGracePeriodSeconds");
    if grace.is_none() {
        errors.required(&path.child("terminationGracePeriodSeconds"), "");
    }
    let volumes = volumes::validate(spec, &path.child("volumes"), errors);
    let context = containers::Context { volumes: &volumes, grace };
    containers::validate_regular(spec, &context, &path.child("containers"), errors);
    containers::validate_init(spec, &context, &path.child("initContainers"), errors);
    validate_host_ports(spec, path, of, errors);
    let restart = tree::text(spec, "restartPolicy");
    checks::one_of(restart, &["Always", "OnFailure", "Never"], &path.child("restartPolicy"), errors);
    checks::one_of(tree::text(spec, "dnsPolicy"), DNS, &path.child("dnsPolicy"), errors);
    metadata::labels(tree::field(spec, "nodeSelector"), &path.child("nodeSelector"), errors);
    security::validate_pod(tree::field(spec, "securityContext"), &path.child("securityContext"), errors);
    scheduling::validate_affinity(spec, &path.child("affinity"), errors);
    validate_dns(spec, &path.child("dnsConfig"), errors);
    let gates_path = path.child("readinessGates");
    for (index, gate) in tree::list(spec, "readinessGates").iter().enumerate() {
        let path = gates_path.index(index);
        checks::qualified(tree::text(gate, "conditionType"), &path.child("conditionType"), errors);
    }
    validate_scheduling_gates(spec, &path.child("schedulingGates"), errors);
    scheduling::validate_spread(spec, &path.child("topologySpreadConstraints"), errors);
    validate_host_users(spec, path, errors);
    validate_names(spec, path, errors);
    tolerations(spec, &path.child("tolerations"), errors);
    validate_host_aliases(spec, &path.child("hostAliases"), errors);
    validate_class_names(spec, path, errors);
}

fn validate_host_ports(spec: &Value, path: &Path<'_>, of: Of, errors: &mut Errors) {
    if !tree::flag(spec, "hostNetwork") {
        return;
    }
    let path = path.child("containers");
    for (index, container) in tree::list(spec, "containers").iter().enumerate() {
        let path = path.index(index);
        let path = path.child("ports");
        for (index, port) in tree::list(container, "ports").iter().enumerate() {
            let (host, own) = (tree::int(port, "hostPort"), tree::int(port, "containerPort"));
            if (of == Of::Pod || host != 0) && host != own {
                let path = path.index(index);
                errors.invalid(
                    &path.child("hostPort"),
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                );
            }
        }
    }
}

/// `validatePodDNSConfig`, as far as the policy needs servers.
fn validate_dns(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if tree::text(spec, "dnsPolicy") != "None" {
        return;
    }
    if !tree::has(spec, "dnsConfig") {
        errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
    } else if tree::list(tree::field(spec, "dnsConfig"), "nameservers").is_empty() {
        let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.required(&path.child("nameservers"), detail);
    }
}

fn validate_scheduling_gates(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut seen = Vec::new();
    for (index, gate) in tree::list(spec, "schedulingGates").iter().enumerate() {
        let name = tree::text(gate, "name");
        checks::qualified(name, &path.index(index), errors);
        if seen.contains(&name) {
            errors.duplicate(&path.index(index), name);
        }
        seen.push(name);
    }
}

fn validate_host_users(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if tree::field(spec, "hostUsers").as_bool() != Some(false) {
        return;
    }
    for (key, name) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if tree::flag(spec, key) {
            errors.forbidden(&path.child(name), "when `hostUsers` is false");
        }
    }
}

fn validate_names(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let account = tree::text(spec, "serviceAccountName");
    if !account.is_empty() {
        checks::subdomain(account, &path.child("serviceAccountName"), errors);
    }
    let node = tree::text(spec, "nodeName");
    if !node.is_empty() {
        checks::subdomain(node, &path.child("nodeName"), errors);
    }
    if let Some(seconds) = tree::maybe_int(spec, "activeDeadlineSeconds")
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        let detail = "must be between 1 and 2147483647, inclusive";
        errors.invalid(&path.child("activeDeadlineSeconds"), seconds, detail);
    }
    for key in ["hostname", "subdomain"] {
        let name = tree::text(spec, key);
        if !name.is_empty() {
            checks::label(name, &path.child(key), errors);
        }
    }
}

/// `ValidateTolerations`.
pub(super) fn tolerations(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (index, toleration) in tree::list(spec, "tolerations").iter().enumerate() {
        let path = path.index(index);
        let key = tree::text(toleration, "key");
        let (operator, value) = (tree::text(toleration, "operator"), tree::text(toleration, "value"));
        let effect = tree::text(toleration, "effect");
        let operator_path = path.child("operator");
        if !key.is_empty() {
            checks::qualified(key, &path.child("key"), errors);
        } else if operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.invalid(&operator_path, Value::from(operator), detail);
        }
        if tree::has(toleration, "tolerationSeconds") && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(&path.child("effect"), Value::from(effect), detail);
        }
        match operator {
            "Equal" | "" => {
                let messages = content::label_value(value);
                if !messages.is_empty() {
                    errors.invalid(&operator_path, value, &messages.join(";"));
                }
            }
            "Exists" if !value.is_empty() => {
                errors.invalid(&operator_path, value, "value must be empty when `operator` is 'Exists'");
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                errors.not_supported(&operator_path, Value::from(operator), &["Equal", "Exists", "Lt", "Gt"]);
            }
            other => errors.not_supported(&operator_path, Value::from(other), &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            taint_effect(effect, &path.child("effect"), errors);
        }
    }
}

/// `validateTaintEffect`.
pub(crate) fn taint_effect(effect: &str, path: &Path<'_>, errors: &mut Errors) {
    checks::one_of(effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"], path, errors);
}

fn validate_host_aliases(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (index, alias) in tree::list(spec, "hostAliases").iter().enumerate() {
        let path = path.index(index);
        ip::check(errors, &path.child("ip"), tree::text(alias, "ip"), &[]);
        let path = path.child("hostnames");
        for (index, name) in tree::texts(alias, "hostnames").into_iter().enumerate() {
            checks::subdomain(name, &path.index(index), errors);
        }
    }
}

fn validate_class_names(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let class = tree::text(spec, "priorityClassName");
    if !class.is_empty() {
        checks::subdomain(class, &path.child("priorityClassName"), errors);
    }
    if let Some(class) = tree::maybe_text(spec, "runtimeClassName") {
        checks::subdomain(class, &path.child("runtimeClassName"), errors);
    }
    if let Some(policy) = tree::maybe_text(spec, "preemptionPolicy") {
        let known = ["PreemptLowerPriority", "Never"];
        checks::one_of(policy, &known, &path.child("preemptionPolicy"), errors);
    }
    if tree::has(spec, "os") {
        let name = tree::text(tree::field(spec, "os"), "name");
        let path = path.child("os");
        if name.is_empty() {
            errors.required(&path.child("name"), "cannot be empty");
        } else {
            checks::one_of(name, &["linux", "windows"], &path, errors);
        }
    }
}

/// `ValidatePodTemplateSpec`.
pub(crate) fn validate_template(template: &Value, path: &Path<'_>, errors: &mut Errors) {
    let meta = tree::field(template, "metadata");
    metadata::labels(tree::field(meta, "labels"), &path.child("labels"), errors);
    let own = tree::field(meta, "annotations");
    metadata::annotations(own, &path.child("annotations"), errors);
    let spec = tree::field(template, "spec");
    annotations::validate(own, spec, &path.child("annotations"), errors);
    let path = path.child("spec");
    validate(spec, &path, Of::Template, errors);
    if !tree::list(spec, "ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.forbidden(&path.child("ephemeralContainers"), detail);
    }
}
