//! Defaults of pods and pod templates: `pkg/apis/core/v1`. Of volumes, only those of common sources.

use serde_json::{Value, json};

use crate::tree;

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Numbers of probes that stand for their defaults when they are 0.
const PROBE: [(&str, i64); 4] =
    [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)];

/// `SetObjectDefaults_Pod`.
pub(super) fn default_pod(object: &mut Value) {
    let spec = tree::field_mut(object, "spec");
    let uses_host = tree::flag(spec, "hostNetwork");
    for key in ["containers", "initContainers"] {
        for container in tree::list_mut(spec, key) {
            request_limits(container);
            if uses_host {
                open_host_ports(container);
            }
        }
    }
    tree::set_default(spec, "enableServiceLinks", true);
    default_spec(spec);
    if tree::int(spec, "terminationGracePeriodSeconds") < 0 {
        tree::set(spec, "terminationGracePeriodSeconds", 1);
    }
    if let Some(status) = tree::present_mut(object, "status") {
        sync_ips(status);
    }
}

/// The defaults of a pod template, in an object with `spec.template`.
pub(crate) fn default_template(template: &mut Value) {
    default_spec(tree::field_mut(template, "spec"));
}

/// On the network of the host, ports are ports of the host.
fn open_host_ports(container: &mut Value) {
    for port in tree::list_mut(container, "ports") {
        let number = tree::int(port, "containerPort");
        if tree::int(port, "hostPort") == 0 && number != 0 {
            tree::set(port, "hostPort", number);
        }
    }
}

/// Requests default to limits.
fn request_limits(container: &mut Value) {
    let Some(resources) = tree::present_mut(container, "resources") else { return };
    let Some(limits) = tree::field(resources, "limits").as_object().cloned() else { return };
    for (name, limit) in limits {
        tree::set_default(tree::field_mut(resources, "requests"), &name, limit);
    }
}

/// `podIP` is the first of `podIPs`. If both are given and differ, `podIP` wins.
fn sync_ips(status: &mut Value) {
    let ip = tree::text(status, "podIP");
    let first = tree::list(status, "podIPs").first().map(|first| tree::text(first, "ip"));
    match (ip, first) {
        ("", Some(first)) if !first.is_empty() => {
            let first = first.to_owned();
            tree::set(status, "podIP", first);
        }
        ("", _) => {}
        (ip, first) if first != Some(ip) => {
            let ips = json!([{ "ip": ip }]);
            tree::set(status, "podIPs", ips);
        }
        _ => {}
    }
}

/// `SetDefaults_PodSpec` and the defaults below it.
fn default_spec(spec: &mut Value) {
    tree::set_default_text(spec, "dnsPolicy", "ClusterFirst");
    tree::set_default_text(spec, "restartPolicy", "Always");
    tree::set_default(spec, "securityContext", json!({}));
    tree::set_default(spec, "terminationGracePeriodSeconds", 30);
    tree::set_default_text(spec, "schedulerName", "default-scheduler");
    // The old name and the new one are one field of the internal type.
    let account = match tree::text(spec, "serviceAccountName") {
        "" => tree::text(spec, "serviceAccount"),
        name => name,
    };
    if !account.is_empty() {
        let account = account.to_owned();
        tree::set(spec, "serviceAccountName", account.as_str());
        tree::set(spec, "serviceAccount", account);
    }
    tree::list_mut(spec, "volumes").iter_mut().for_each(default_volume);
    for key in CONTAINERS {
        tree::list_mut(spec, key).iter_mut().for_each(default_container);
    }
}

fn default_container(container: &mut Value) {
    let policy = if is_latest(tree::text(container, "image")) { "Always" } else { "IfNotPresent" };
    tree::set_default_text(container, "imagePullPolicy", policy);
    tree::set_default_text(container, "terminationMessagePath", "/dev/termination-log");
    tree::set_default_text(container, "terminationMessagePolicy", "File");
    for port in tree::list_mut(container, "ports") {
        tree::set_default_text(port, "protocol", "TCP");
    }
    for variable in tree::list_mut(container, "env") {
        if let Some(field) = variable.pointer_mut("/valueFrom/fieldRef").filter(|field| field.is_object()) {
            tree::set_default_text(field, "apiVersion", "v1");
        }
    }
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = tree::present_mut(container, key) else { continue };
        for (key, default) in PROBE {
            if tree::int(probe, key) == 0 {
                tree::set(probe, key, default);
            }
        }
        default_handler(probe);
    }
    if let Some(lifecycle) = tree::present_mut(container, "lifecycle") {
        for key in ["postStart", "preStop"] {
            if let Some(handler) = tree::present_mut(lifecycle, key) {
                default_handler(handler);
            }
        }
    }
}

fn default_handler(handler: &mut Value) {
    if let Some(get) = tree::present_mut(handler, "httpGet") {
        tree::set_default_text(get, "path", "/");
        tree::set_default_text(get, "scheme", "HTTP");
    }
    if let Some(grpc) = tree::present_mut(handler, "grpc") {
        tree::set_default(grpc, "service", "");
    }
}

fn default_volume(volume: &mut Value) {
    let has_source = volume
        .as_object()
        .is_some_and(|fields| fields.iter().any(|(key, value)| key != "name" && !value.is_null()));
    if !has_source {
        tree::set(volume, "emptyDir", json!({}));
    }
    for key in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = tree::present_mut(volume, key) {
            tree::set_default(source, "defaultMode", 0o644);
        }
    }
    if let Some(path) = tree::present_mut(volume, "hostPath") {
        tree::set_default(path, "type", "");
    }
}

/// True if the tag of an image is `latest`, named or implied.
fn is_latest(reference: &str) -> bool {
    // A colon before the last slash begins a port.
    let name = reference.rsplit('/').next().unwrap_or_default();
    !reference.is_empty()
        && !name.contains('@')
        && name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}
