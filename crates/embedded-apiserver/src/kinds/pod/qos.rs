//! The quality of service class: `pkg/apis/core/helper/qos`.

use serde_json::Value;

use crate::kinds::quantity::nanos;
use crate::kinds::tree;

const RESOURCES: [&str; 2] = ["cpu", "memory"];

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub(super) fn class(spec: &Value) -> &'static str {
    let own = tree::field(spec, "resources");
    let all: Vec<&Value> = if own.is_null() {
        let containers = tree::list(spec, "containers").iter().chain(tree::list(spec, "initContainers"));
        containers.map(|container| tree::field(container, "resources")).collect()
    } else {
        vec![own]
    };
    let sum = |key: &str, resource: &str| all.iter().map(|one| positive(one, key, resource)).sum::<i128>();
    let requests = RESOURCES.map(|resource| sum("requests", resource));
    let limits = RESOURCES.map(|resource| sum("limits", resource));
    if requests.iter().chain(&limits).all(|sum| *sum == 0) {
        return "BestEffort";
    }
    let all_limited =
        all.iter().all(|one| RESOURCES.iter().all(|resource| positive(one, "limits", resource) > 0));
    let equals = requests.iter().zip(&limits).all(|(request, limit)| *request == 0 || request == limit);
    let same_number =
        requests.iter().filter(|sum| **sum > 0).count() == limits.iter().filter(|sum| **sum > 0).count();
    if all_limited && equals && same_number { "Guaranteed" } else { "Burstable" }
}

fn positive(resources: &Value, key: &str, resource: &str) -> i128 {
    nanos(tree::at(resources, &[key, resource])).unwrap_or_default().max(0)
}
