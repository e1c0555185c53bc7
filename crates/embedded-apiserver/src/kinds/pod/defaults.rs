//! Defaults of pods and pod templates: `pkg/apis/core/v1`.

use serde_json::{Value, json};

use crate::kinds::tree;

use super::image;

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// `SetObjectDefaults_Pod`.
pub(super) fn default_pod(object: &mut Value) {
    let spec = tree::field_mut(object, "spec");
    for key in ["containers", "initContainers"] {
        for container in tree::list_mut(spec, key) {
            request_limits(container);
        }
    }
    tree::set_default(spec, "enableServiceLinks", true);
    if tree::flag(spec, "hostNetwork") {
        for key in ["containers", "initContainers"] {
            tree::list_mut(spec, key).iter_mut().for_each(open_host_ports);
        }
    }
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
    let Some(resources) = tree::present_mut(container, "resources") else {
        return;
    };
    let Some(limits) = tree::field(resources, "limits").as_object().cloned() else {
        return;
    };
    let requests = tree::field_mut(resources, "requests");
    for (name, limit) in limits {
        if !tree::has(requests, &name) {
            tree::set(requests, &name, limit);
        }
    }
    if tree::same(requests, &Value::Null) {
        tree::remove(resources, "requests");
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
    if !account.is_empty() && tree::text(spec, "serviceAccount") != tree::text(spec, "serviceAccountName") {
        let account = account.to_owned();
        tree::set(spec, "serviceAccountName", account.as_str());
        tree::set(spec, "serviceAccount", account);
    }
    for volume in tree::list_mut(spec, "volumes") {
        default_volume(volume);
    }
    for key in CONTAINERS {
        for container in tree::list_mut(spec, key) {
            default_container(container);
        }
    }
}

fn default_container(container: &mut Value) {
    if tree::text(container, "imagePullPolicy").is_empty() {
        let policy = if image::is_latest(tree::text(container, "image")) { "Always" } else { "IfNotPresent" };
        tree::set(container, "imagePullPolicy", policy);
    }
    tree::set_default_text(container, "terminationMessagePath", "/dev/termination-log");
    tree::set_default_text(container, "terminationMessagePolicy", "File");
    for port in tree::list_mut(container, "ports") {
        tree::set_default_text(port, "protocol", "TCP");
    }
    for variable in tree::list_mut(container, "env") {
        if let Some(source) = tree::present_mut(variable, "valueFrom")
            && let Some(field) = tree::present_mut(source, "fieldRef")
        {
            tree::set_default_text(field, "apiVersion", "v1");
        }
    }
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = tree::present_mut(container, key) {
            for (key, default) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                if tree::int(probe, key) == 0 {
                    tree::set(probe, key, default);
                }
            }
            default_http_get(probe);
            if let Some(grpc) = tree::present_mut(probe, "grpc") {
                tree::set_default(grpc, "service", "");
            }
        }
    }
    if let Some(lifecycle) = tree::present_mut(container, "lifecycle") {
        for key in ["postStart", "preStop"] {
            if let Some(handler) = tree::present_mut(lifecycle, key) {
                default_http_get(handler);
            }
        }
    }
}

fn default_http_get(handler: &mut Value) {
    if let Some(get) = tree::present_mut(handler, "httpGet") {
        tree::set_default_text(get, "path", "/");
        tree::set_default_text(get, "scheme", "HTTP");
    }
}

fn default_volume(volume: &mut Value) {
    if volume
        .as_object()
        .is_some_and(|fields| fields.iter().all(|(key, value)| key == "name" || value.is_null()))
    {
        tree::set(volume, "emptyDir", json!({}));
    }
    for key in ["secret", "configMap"] {
        if let Some(source) = tree::present_mut(volume, key) {
            tree::set_default(source, "defaultMode", 0o644);
        }
    }
}
