//! The quality of service class: `pkg/apis/core/helper/qos`. Amounts are compared as they are spelled.

use serde_json::Value;

use crate::tree;

const RESOURCES: [&str; 2] = ["cpu", "memory"];

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub(super) fn class(spec: &Value) -> &'static str {
    let containers = || tree::list(spec, "containers").iter().chain(tree::list(spec, "initContainers"));
    let amount = |container, key, resource| {
        let amount = tree::text(tree::at(container, &["resources", key]), resource);
        if amount == "0" { "" } else { amount }
    };
    let asks = |container| {
        RESOURCES.iter().any(|resource| {
            ["requests", "limits"].iter().any(|key| !amount(container, *key, *resource).is_empty())
        })
    };
    let is_fixed = |container| {
        RESOURCES.iter().all(|resource| {
            let limit = amount(container, "limits", *resource);
            !limit.is_empty() && limit == amount(container, "requests", *resource)
        })
    };
    if !containers().any(asks) {
        "BestEffort"
    } else if containers().all(is_fixed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
