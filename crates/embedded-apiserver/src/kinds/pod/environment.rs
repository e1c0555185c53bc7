//! Environment variables and their sources: `ValidateEnv` and `ValidateEnvFrom`.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::{checks, content, tree};

/// Fields of a pod that variables can take, sorted.
const FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields that other parts of a pod can refer to and variables cannot.
const OTHER_FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase"];
/// Resources of a container that variables can take, sorted.
const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const HUGE_PAGES: [&str; 2] = ["limits.hugepages-", "requests.hugepages-"];
const SOURCES: &str =
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
const ONE_SOURCE: &str = "may not have more than one field specified at a time";

/// Checks `env` of a container at the path. Divisors of resources and keys of files are stored unchecked.
pub(super) fn validate(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (index, variable) in tree::list(container, "env").iter().enumerate() {
        let path = path.index(index);
        let name = tree::text(variable, "name");
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        } else {
            errors.invalid_each(&path.child("name"), name, &content::environment_name(name));
        }
        if tree::has(variable, "valueFrom") {
            validate_sources(variable, &path.child("valueFrom"), errors);
        }
    }
}

/// `validateEnvVarValueFrom`.
fn validate_sources(variable: &Value, path: &Path<'_>, errors: &mut Errors) {
    let sources = tree::field(variable, "valueFrom");
    let mut count = 0;
    for key in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        let source = tree::field(sources, key);
        if source.is_null() {
            continue;
        }
        count += 1;
        let path = path.child(key);
        match key {
            "fieldRef" => validate_field(source, &path, errors),
            "resourceFieldRef" => validate_resource(source, &path, errors),
            "configMapKeyRef" | "secretKeyRef" => validate_key(source, &path, errors),
            _ => {}
        }
    }
    if count == 0 {
        errors.invalid(path, "", SOURCES);
    } else if !tree::text(variable, "value").is_empty() {
        errors.invalid(path, "", "may not be specified when `value` is not empty");
    } else if count > 1 {
        errors.invalid(path, "", ONE_SOURCE);
    }
}

/// `validateObjectFieldSelector`.
fn validate_field(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (version, label) = (tree::text(source, "apiVersion"), tree::text(source, "fieldPath"));
    for (key, value) in [("apiVersion", version), ("fieldPath", label)] {
        if value.is_empty() {
            errors.required(&path.child(key), "");
            return;
        }
    }
    let label_path = path.child("fieldPath");
    let wrong = |cause: &str, errors: &mut Errors| {
        errors.invalid(&label_path, label, &format!("error converting fieldPath: {cause}"));
    };
    if version != "v1" {
        return wrong(&format!("unsupported pod version: {version}"), errors);
    }
    match subscripted(label) {
        Some(("metadata.annotations", key)) => checks::qualified(&key.to_lowercase(), path, errors),
        Some(("metadata.labels", key)) => checks::qualified(key, path, errors),
        Some(_) => wrong(&format!("field label does not support subscript: {label}"), errors),
        // The name of nodeName in clients of old.
        None if label == "spec.host" || FIELDS.contains(&label) => {}
        None if OTHER_FIELDS.contains(&label) => errors.not_supported(&label_path, label, FIELDS),
        None => wrong(&format!("field label not supported: {label}"), errors),
    }
}

/// The parts of `field['key']` (`SplitMaybeSubscriptedPath`).
fn subscripted(label: &str) -> Option<(&str, &str)> {
    label.strip_suffix("']")?.split_once("['").filter(|(field, _)| !field.is_empty())
}

/// `validateContainerResourceFieldSelector`.
fn validate_resource(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let resource = tree::text(source, "resource");
    let is_known =
        RESOURCES.contains(&resource) || HUGE_PAGES.iter().any(|prefix| resource.starts_with(prefix));
    if resource.is_empty() {
        errors.required(&path.child("resource"), "");
    } else if !is_known {
        errors.not_supported(&path.child("resource"), resource, RESOURCES);
    }
}

/// `validateConfigMapKeySelector` and `validateSecretKeySelector`.
fn validate_key(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    checks::subdomain(tree::text(source, "name"), &path.child("name"), errors);
    let key = tree::text(source, "key");
    if key.is_empty() {
        errors.required(&path.child("key"), "");
    } else {
        errors.invalid_each(&path.child("key"), key, &content::config_key(key));
    }
}

/// Checks `envFrom` of a container at the path. Errors about the number of sources name the list, as upstream's do.
pub(super) fn validate_from(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (index, source) in tree::list(container, "envFrom").iter().enumerate() {
        let item = path.index(index);
        let prefix = tree::text(source, "prefix");
        if !prefix.is_empty() {
            errors.invalid_each(&item.child("prefix"), prefix, &content::environment_name(prefix));
        }
        let mut count = 0;
        for key in ["configMapRef", "secretRef"] {
            if !tree::has(source, key) {
                continue;
            }
            count += 1;
            let path = item.child(key);
            let path = path.child("name");
            match tree::text(tree::field(source, key), "name") {
                "" => errors.required(&path, ""),
                name => errors.invalid_each(&path, name, &content::subdomain_name(name, true)),
            }
        }
        match count {
            0 => errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid(path, "", ONE_SOURCE),
        }
    }
}
