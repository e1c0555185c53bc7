//! Quantities such as `500m` and `1Gi`: `k8s.io/apimachinery/pkg/api/resource`, as far as rules compare them.

use serde_json::Value;

use super::field::{Errors, Path};
use crate::codec::quantity_in_nanos;

/// Resources that are counted.
const COUNTED: &[&str] = &[
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

/// `ValidateResourceQuantityValue`: not negative, and whole if the resource is counted.
pub(super) fn validate(resource: &str, quantity: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(value) = nanos(quantity) else {
        return;
    };
    if value < 0 {
        let text = quantity.as_str().unwrap_or_default();
        errors.invalid(path, text, "must be greater than or equal to 0");
    }
    let is_extended = resource.contains('/') && !resource.contains("kubernetes.io/");
    if (is_extended || COUNTED.contains(&resource)) && value / 1_000_000 % 1_000 != 0 {
        errors.invalid(path, quantity, "must be an integer");
    }
}

/// The value in billionths. Absent if it is no quantity; saturates beyond 10^29.
pub(super) fn nanos(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => quantity_in_nanos(text),
        Value::Number(number) => quantity_in_nanos(&number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
