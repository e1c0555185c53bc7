//! Quantities such as `500m` and `1Gi`: `k8s.io/apimachinery/pkg/api/resource`, as far as rules compare them.

use serde_json::Value;

use crate::codec::quantity_in_nanos;

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
