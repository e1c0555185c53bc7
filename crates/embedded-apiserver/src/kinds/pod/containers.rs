//! `validateContainers` and `validateInitContainers`: names, images and ports.

use serde_json::Value;

use crate::kinds::checks::{self, PROTOCOLS};
use crate::kinds::content;
use crate::kinds::field::{Errors, Path};
use crate::kinds::tree;

/// Checks `containers`.
pub(super) fn validate_regular(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let containers = tree::list(spec, "containers");
    if containers.is_empty() {
        errors.required(path, "");
        return;
    }
    let mut names = Vec::with_capacity(containers.len());
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        validate_common(container, &path, errors);
        let name = tree::text(container, "name");
        if names.contains(&name) {
            errors.duplicate(&path.child("name"), name);
        } else {
            names.push(name);
        }
    }
}

/// Checks `initContainers`.
pub(super) fn validate_init(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut names: Vec<&str> =
        tree::list(spec, "containers").iter().map(|one| tree::text(one, "name")).collect();
    for (index, container) in tree::list(spec, "initContainers").iter().enumerate() {
        let item = path.index(index);
        validate_common(container, &item, errors);
        let name = tree::text(container, "name");
        if names.contains(&name) {
            errors.duplicate(&item.child("name"), name);
        } else if !name.is_empty() {
            names.push(name);
        }
    }
}

/// `validateContainerCommon`.
fn validate_common(container: &Value, path: &Path<'_>, errors: &mut Errors) {
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
            }
            if messages.is_empty() {
                names.push(name);
            }
        }
        match tree::int(port, "containerPort") {
            0 => errors.required(&path.child("containerPort"), ""),
            number => checks::port(number, &path.child("containerPort"), errors),
        }
        match tree::int(port, "hostPort") {
            0 => {}
            number => checks::port(number, &path.child("hostPort"), errors),
        }
        checks::one_of(tree::text(port, "protocol"), PROTOCOLS, &path.child("protocol"), errors);
    }
}
