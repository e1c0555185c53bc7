//! The parts of `ValidatePodSpec` that endpoints depend on: containers and their ports, names, policies.

use serde_json::Value;

use crate::kinds::checks::{self, PROTOCOLS};
use crate::kinds::content;
use crate::kinds::field::{Errors, Path};
use crate::tree;

const SPEC: Path<'static> = Path::root("spec");
const RESTART: &[&str] = &["Always", "OnFailure", "Never"];
const DNS: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// Checks the spec of a pod.
pub(super) fn validate(spec: &Value, errors: &mut Errors) {
    if tree::list(spec, "containers").is_empty() {
        errors.required(&SPEC.child("containers"), "");
    }
    let mut names = Vec::new();
    for key in ["containers", "initContainers"] {
        let path = SPEC.child(key);
        for (index, container) in tree::list(spec, key).iter().enumerate() {
            validate_container(container, &mut names, &path.index(index), errors);
        }
    }
    checks::one_of(tree::text(spec, "restartPolicy"), RESTART, &SPEC.child("restartPolicy"), errors);
    checks::one_of(tree::text(spec, "dnsPolicy"), DNS, &SPEC.child("dnsPolicy"), errors);
    let path = SPEC.child("readinessGates");
    for (index, gate) in tree::list(spec, "readinessGates").iter().enumerate() {
        let path = path.index(index);
        checks::qualified(tree::text(gate, "conditionType"), &path.child("conditionType"), errors);
    }
    let node = tree::text(spec, "nodeName");
    if !node.is_empty() {
        checks::subdomain(node, &SPEC.child("nodeName"), errors);
    }
    for key in ["hostname", "subdomain"] {
        let name = tree::text(spec, key);
        if !name.is_empty() {
            checks::label(name, &SPEC.child(key), errors);
        }
    }
}

fn validate_container<'a>(
    container: &'a Value,
    names: &mut Vec<&'a str>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let name = tree::text(container, "name");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    } else {
        checks::label(name, &path.child("name"), errors);
    }
    if tree::text(container, "image").is_empty() {
        errors.required(&path.child("image"), "");
    }
    validate_ports(container, &path.child("ports"), errors);
    if names.contains(&name) {
        errors.duplicate(&path.child("name"), name);
    } else {
        names.push(name);
    }
}

fn validate_ports(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut names = Vec::new();
    for (index, port) in tree::list(container, "ports").iter().enumerate() {
        let path = path.index(index);
        let name = tree::text(port, "name");
        if !name.is_empty() {
            let messages = content::port_name(name);
            errors.invalid_each(&path.child("name"), name, &messages);
            if messages.is_empty() && names.contains(&name) {
                errors.duplicate(&path.child("name"), name);
            } else if messages.is_empty() {
                names.push(name);
            }
        }
        match tree::int(port, "containerPort") {
            0 => errors.required(&path.child("containerPort"), ""),
            number => checks::port(number, &path.child("containerPort"), errors),
        }
        let host = tree::int(port, "hostPort");
        if host != 0 {
            checks::port(host, &path.child("hostPort"), errors);
        }
        checks::one_of(tree::text(port, "protocol"), PROTOCOLS, &path.child("protocol"), errors);
    }
}
