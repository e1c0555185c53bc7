//! `GetWarningsForPod` and `GetWarningsForPodTemplate`, as far as likely manifests go.

use std::collections::HashMap;

use serde_json::Value;

use crate::kinds::field::Path;
use crate::kinds::quantity::nanos;
use crate::kinds::{go, ip, tree};

const NODE_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

const VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Texts about a new pod.
pub(super) fn pod_warnings(object: &Value) -> Vec<String> {
    collect(object, &Path::root("metadata"), &Path::root("spec"))
}

/// Texts about a pod template at the path.
pub(crate) fn template_warnings(template: &Value, path: &Path<'_>) -> Vec<String> {
    let mut warnings = collect(template, &path.child("metadata"), &path.child("spec"));
    if tree::int(tree::field(template, "spec"), "terminationGracePeriodSeconds") < 0 {
        warnings.push(format!(
            "{path}.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    warnings
}

fn collect(object: &Value, meta_path: &Path<'_>, path: &Path<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let spec = tree::field(object, "spec");
    let selector_path = path.child("nodeSelector");
    for (key, _) in tree::entries(spec, "nodeSelector") {
        if let Some((_, text)) = NODE_LABELS.iter().find(|(label, _)| *label == key) {
            warnings.push(format!("{}: {text}", selector_path.key(key)));
        }
    }
    let annotations_path = meta_path.child("annotations");
    let annotations = tree::at(object, &["metadata", "annotations"]);
    for (key, text) in ANNOTATIONS.iter().filter(|(key, _)| tree::has(annotations, key)) {
        warnings.push(format!("{}: {text}", annotations_path.key(key)));
    }
    let volumes_path = path.child("volumes");
    for (index, volume) in tree::list(spec, "volumes").iter().enumerate() {
        let path = volumes_path.index(index);
        for (key, text) in VOLUMES.iter().filter(|(key, _)| tree::has(volume, key)) {
            warnings.push(format!("{}: {text}", path.child(key)));
        }
    }
    duplicates(spec, "hostAliases", "ip", path, &mut warnings);
    duplicates(spec, "imagePullSecrets", "name", path, &mut warnings);
    let secrets_path = path.child("imagePullSecrets");
    for (index, secret) in tree::list(spec, "imagePullSecrets").iter().enumerate() {
        if tree::text(secret, "name").is_empty() {
            let path = secrets_path.index(index);
            warnings.push(format!("{}: invalid empty name \"\"", path.child("name")));
        }
    }
    visit(spec, path, |container, path| container_warnings(container, path, &mut warnings));
    port_warnings(spec, path, &mut warnings);
    let aliases_path = path.child("hostAliases");
    for (index, alias) in tree::list(spec, "hostAliases").iter().enumerate() {
        let path = aliases_path.index(index);
        warnings.extend(ip::warning(&path.child("ip"), tree::text(alias, "ip")));
    }
    warnings
}

fn duplicates(spec: &Value, key: &str, of: &str, path: &Path<'_>, warnings: &mut Vec<String>) {
    let path = path.child(key);
    let mut seen = Vec::new();
    for (index, item) in tree::list(spec, key).iter().enumerate() {
        let name = tree::text(item, of);
        if seen.contains(&name) {
            let path = path.index(index);
            warnings.push(format!("{}: duplicate {of} {}", path.child(of), go::quote(name)));
        } else {
            seen.push(name);
        }
    }
}

/// Calls back for each container: init containers first, as upstream does.
fn visit<'a>(spec: &'a Value, path: &Path<'_>, mut call: impl FnMut(&'a Value, &Path<'_>)) {
    for key in ["initContainers", "containers", "ephemeralContainers"] {
        let path = path.child(key);
        for (index, container) in tree::list(spec, key).iter().enumerate() {
            call(container, &path.index(index));
        }
    }
}

fn container_warnings(container: &Value, path: &Path<'_>, warnings: &mut Vec<String>) {
    let resources = tree::field(container, "resources");
    let resources_path = path.child("resources");
    for name in ["memory", "ephemeral-storage"] {
        for key in ["limits", "requests"] {
            let quantity = tree::at(resources, &[key, name]);
            let is_fraction = nanos(quantity).is_some_and(|nanos| nanos / 1_000_000 % 1_000 != 0);
            if is_fraction {
                let text = go::quote(quantity.as_str().unwrap_or_default());
                let path = resources_path.child(key);
                let path = path.key(name);
                warnings.push(format!("{path}: fractional byte value {text} is invalid, must be an integer"));
            }
        }
    }
    let env_path = path.child("env");
    let mut seen = Vec::new();
    for (index, variable) in tree::list(container, "env").iter().enumerate() {
        let name = tree::text(variable, "name");
        if !seen.contains(&name) {
            seen.push(name);
            continue;
        }
        let reference = format!("$({name})");
        let value = tree::text(variable, "value");
        let hides = tree::has(variable, "valueFrom") || value == reference || !value.contains(&reference);
        if hides {
            let name = go::quote(name);
            warnings.push(format!(
                "{}: hides previous definition of {name}, which may be dropped when using apply",
                env_path.index(index)
            ));
        }
    }
}

fn port_warnings(spec: &Value, path: &Path<'_>, warnings: &mut Vec<String>) {
    let mut by_number: HashMap<(i64, &str), Vec<(String, &Value)>> = HashMap::new();
    let mut by_name: HashMap<&str, String> = HashMap::new();
    let mut about_names = Vec::new();
    visit(spec, path, |container, path| {
        let path = path.child("ports");
        for (index, port) in tree::list(container, "ports").iter().enumerate() {
            let path = path.index(index);
            let key = (tree::int(port, "containerPort"), tree::text(port, "protocol"));
            let others = by_number.entry(key).or_default();
            for (other_path, other) in others.iter() {
                if let Some(how) = overlap(port, other) {
                    warnings.push(format!("{path}: {how} port definition with {other_path}"));
                }
            }
            others.push((path.to_string(), port));
            let name = tree::text(port, "name");
            if name.is_empty() {
                continue;
            }
            if let Some(other) = by_name.get(name) {
                let name = go::quote(name);
                about_names.push(format!(
                    "{path}: duplicate port name {name} with {other}, services and probes that select ports by name will use {other}"
                ));
            } else {
                by_name.insert(name, path.to_string());
            }
        }
    });
    warnings.append(&mut about_names);
}

fn overlap(port: &Value, other: &Value) -> Option<&'static str> {
    let (ip, other_ip) = (tree::text(port, "hostIP"), tree::text(other, "hostIP"));
    let (number, other_number) = (tree::int(port, "hostPort"), tree::int(other, "hostPort"));
    if ip == other_ip && number == other_number {
        Some("duplicate")
    } else if number == 0 || other_number == 0 {
        Some("overlapping")
    } else if number == other_number && ip.is_empty() != other_ip.is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}
