//! `ValidateContainerResourceRequirements`.

use serde_json::Value;

use crate::kinds::content;
use crate::kinds::field::{Errors, Path};
use crate::kinds::quantity::{self, nanos};
use crate::kinds::tree;

const STANDARD: &[&str] = &["cpu", "memory", "ephemeral-storage"];
/// Other names without a domain, which containers cannot have.
const OF_QUOTAS: &[&str] = &[
    "storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Checks `resources` of a container.
pub(super) fn validate(resources: &Value, path: &Path<'_>, errors: &mut Errors) {
    let limits = tree::field(resources, "limits");
    let (limits_path, requests_path) = (path.child("limits"), path.child("requests"));
    for (name, quantity) in tree::entries(resources, "limits") {
        validate_one(name, quantity, &limits_path.key(name), errors);
    }
    for (name, quantity) in tree::entries(resources, "requests") {
        validate_one(name, quantity, &requests_path.key(name), errors);
        let text = quantity.as_str().unwrap_or_default();
        let is_native = !name.contains('/') || name.contains("kubernetes.io/");
        let can_overcommit = is_native && !is_huge_pages(name);
        let limit = tree::field(limits, name);
        let (Some(asked), Some(most)) = (nanos(quantity), nanos(limit)) else {
            if !can_overcommit {
                errors.required(&limits_path, "Limit must be set for non overcommitable resources");
            }
            continue;
        };
        let most_text = limit.as_str().unwrap_or_default();
        if asked != most && !can_overcommit {
            errors.invalid(&requests_path, text, &format!("must be equal to {name} limit of {most_text}"));
        } else if asked > most {
            let detail = format!("must be less than or equal to {name} limit of {most_text}");
            errors.invalid(&requests_path, text, &detail);
        }
    }
    let names = || tree::entries(resources, "limits").chain(tree::entries(resources, "requests"));
    if names().any(|(name, _)| is_huge_pages(name))
        && !names().any(|(name, _)| matches!(name, "cpu" | "memory"))
    {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn validate_one(name: &str, amount: &Value, path: &Path<'_>, errors: &mut Errors) {
    validate_name(name, path, errors);
    quantity::validate(name, amount, path, errors);
}

/// `validateContainerResourceName`.
fn validate_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let messages = content::qualified_name(name);
    for message in &messages {
        errors.invalid(path, Value::from(name), message);
    }
    if !messages.is_empty() {
        return;
    }
    if !name.contains('/') {
        let is_standard = STANDARD.contains(&name) || is_huge_pages(name);
        if !is_standard && !OF_QUOTAS.contains(&name) {
            errors.invalid(path, Value::from(name), "must be a standard resource type or fully qualified");
        }
        if !is_standard {
            errors.invalid(path, Value::from(name), "must be a standard resource for containers");
        }
    } else if !name.contains("kubernetes.io/") && name.starts_with("requests.") {
        errors.invalid(path, Value::from(name), "doesn't follow extended resource name standard");
    }
}
