//! `validateContainers`, `validateInitContainers` and probes.

use serde_json::Value;

use crate::kinds::checks::{self, PROTOCOLS};
use crate::kinds::content;
use crate::kinds::field::{Errors, Path};
use crate::kinds::{metadata, tree};

use super::{environment, resources, security};

/// Facts of the pod that containers refer to.
pub(super) struct Context<'a> {
    /// The names of the volumes.
    pub(super) volumes: &'a [&'a str],
    pub(super) grace: Option<i64>,
}

/// Checks `containers`.
pub(super) fn validate_regular(spec: &Value, context: &Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    let containers = tree::list(spec, "containers");
    if containers.is_empty() {
        errors.required(path, "");
        return;
    }
    let mut names = Vec::with_capacity(containers.len());
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        validate_common(container, context, &path, errors);
        let name = tree::text(container, "name");
        if names.contains(&name) {
            errors.duplicate(&path.child("name"), name);
        } else {
            names.push(name);
        }
        validate_hooks(container, context, &path, errors);
        validate_restart(container, &path, errors);
    }
    validate_host_ports(containers, path, 0, errors);
}

/// Checks `initContainers`.
pub(super) fn validate_init(spec: &Value, context: &Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    let mut names: Vec<&str> =
        tree::list(spec, "containers").iter().map(|one| tree::text(one, "name")).collect();
    let containers = tree::list(spec, "initContainers");
    for (index, container) in containers.iter().enumerate() {
        let item = path.index(index);
        validate_common(container, context, &item, errors);
        validate_restart(container, &item, errors);
        let name = tree::text(container, "name");
        if names.contains(&name) {
            errors.duplicate(&item.child("name"), name);
        } else if !name.is_empty() {
            names.push(name);
        }
        // Init containers run one by one, so that ports collide only within one. Upstream names the first.
        validate_host_ports(containers.get(index..=index).unwrap_or_default(), path, 0, errors);
        if tree::text(container, "restartPolicy") == "Always" {
            validate_hooks(container, context, &item, errors);
            continue;
        }
        for key in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if tree::has(container, key) {
                let detail = "may not be set for init containers without restartPolicy=Always";
                errors.forbidden(&item.child(key), detail);
            }
        }
    }
}

/// `validateContainerCommon`.
fn validate_common(container: &Value, context: &Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    let name = tree::text(container, "name");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    } else {
        checks::label(name, &path.child("name"), errors);
    }
    if tree::text(container, "image").is_empty() {
        errors.required(&path.child("image"), "");
    }
    let policy = tree::text(container, "terminationMessagePolicy");
    let known = ["File", "FallbackToLogsOnError"];
    checks::one_of(policy, &known, &path.child("terminationMessagePolicy"), errors);
    validate_ports(container, &path.child("ports"), errors);
    environment::validate(container, &path.child("env"), errors);
    environment::validate_from(container, &path.child("envFrom"), errors);
    validate_mounts(container, context, &path.child("volumeMounts"), errors);
    let policy = tree::text(container, "imagePullPolicy");
    checks::one_of(policy, &["Always", "IfNotPresent", "Never"], &path.child("imagePullPolicy"), errors);
    resources::validate(tree::field(container, "resources"), &path.child("resources"), errors);
    let context = tree::field(container, "securityContext");
    security::validate_container(context, &path.child("securityContext"), errors);
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

fn validate_mounts(container: &Value, context: &Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    let mut places = Vec::new();
    for (index, mount) in tree::list(container, "volumeMounts").iter().enumerate() {
        let path = path.index(index);
        let (name, place) = (tree::text(mount, "name"), tree::text(mount, "mountPath"));
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        }
        if !context.volumes.contains(&name) {
            errors.not_found(&path.child("name"), name);
        }
        if place.is_empty() {
            errors.required(&path.child("mountPath"), "");
        }
        if places.contains(&place) {
            errors.invalid(&path.child("mountPath"), place, "must be unique");
        }
        places.push(place);
    }
}

fn validate_restart(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let rules = tree::list(container, "restartPolicyRules");
    match tree::maybe_text(container, "restartPolicy") {
        None if rules.is_empty() => {}
        None => errors
            .required(&path.child("restartPolicy"), "must specify restartPolicy when restart rules are used"),
        Some(policy) => {
            let known = ["Always", "Never", "OnFailure"];
            if !known.contains(&policy) {
                errors.not_supported(&path.child("restartPolicy"), Value::from(policy), &known);
            }
        }
    }
}

/// `checkHostPortConflicts`.
fn validate_host_ports(containers: &[Value], path: &Path<'_>, first: usize, errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(first + index);
        let path = path.child("ports");
        for (index, port) in tree::list(container, "ports").iter().enumerate() {
            let number = tree::int(port, "hostPort");
            if number == 0 {
                continue;
            }
            let key = format!("{}/{}/{number}", tree::text(port, "protocol"), tree::text(port, "hostIP"));
            if seen.contains(&key) {
                let path = path.index(index);
                errors.duplicate(&path.child("hostPort"), key.as_str());
            } else {
                seen.push(key);
            }
        }
    }
}

/// Lifecycle handlers and probes.
fn validate_hooks(container: &Value, context: &Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    let lifecycle = tree::field(container, "lifecycle");
    let lifecycle_path = path.child("lifecycle");
    for key in ["postStart", "preStop"] {
        if tree::has(lifecycle, key) {
            validate_handler(tree::field(lifecycle, key), context, &lifecycle_path.child(key), errors);
        }
    }
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if !tree::has(container, key) {
            continue;
        }
        let probe = tree::field(container, key);
        let path = path.child(key);
        validate_probe(probe, context, &path, errors);
        let grace = tree::field(probe, "terminationGracePeriodSeconds");
        if key == "readinessProbe" {
            if !grace.is_null() {
                let path = path.child("terminationGracePeriodSeconds");
                errors.invalid(&path, grace, "must not be set for readinessProbes");
            }
        } else if tree::int(probe, "successThreshold") != 1 {
            let threshold = tree::int(probe, "successThreshold");
            errors.invalid(&path.child("successThreshold"), threshold, "must be 1");
        }
    }
}

fn validate_probe(probe: &Value, context: &Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    validate_handler(probe, context, path, errors);
    for key in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        metadata::nonnegative(tree::int(probe, key), &path.child(key), errors);
    }
    if let Some(grace) = tree::maybe_int(probe, "terminationGracePeriodSeconds")
        && grace <= 0
    {
        errors.invalid(&path.child("terminationGracePeriodSeconds"), grace, "must be greater than 0");
    }
}

/// `validateHandler`.
fn validate_handler(handler: &Value, context: &Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    let mut count = 0;
    for key in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let action = tree::field(handler, key);
        if action.is_null() {
            continue;
        }
        count += 1;
        let path = path.child(key);
        if count > 1 {
            errors.forbidden(&path, "may not specify more than 1 handler type");
            continue;
        }
        match key {
            "exec" if tree::list(action, "command").is_empty() => errors.required(&path.child("command"), ""),
            "httpGet" => validate_http_get(action, &path, errors),
            "tcpSocket" | "grpc" => {
                checks::port_or_name(tree::field(action, "port"), &path.child("port"), errors);
            }
            "sleep" => validate_sleep(tree::int(action, "seconds"), context.grace, &path, errors),
            _ => {}
        }
    }
    if count == 0 {
        errors.required(path, "must specify a handler type");
    }
}

fn validate_http_get(action: &Value, path: &Path<'_>, errors: &mut Errors) {
    if tree::text(action, "path").is_empty() {
        errors.required(&path.child("path"), "");
    }
    checks::port_or_name(tree::field(action, "port"), &path.child("port"), errors);
    let scheme = tree::text(action, "scheme");
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.not_supported(&path.child("scheme"), Value::from(scheme), &["HTTP", "HTTPS"]);
    }
    for header in tree::list(action, "httpHeaders") {
        let name = tree::text(header, "name");
        if let Some(message) = content::header_name(name) {
            errors.invalid(&path.child("httpHeaders"), name, message);
        }
    }
}

fn validate_sleep(seconds: i64, grace: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    if let Some(grace) = grace
        && (seconds < 0 || seconds > grace)
    {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.invalid(path, seconds, &detail);
    }
}
