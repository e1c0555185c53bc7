//! The quality of service class: `pkg/apis/core/helper/qos`.

use serde_json::Value;

use crate::codec::quantity_in_nanos;
use crate::kinds::tree;

const RESOURCES: [&str; 2] = ["cpu", "memory"];

const GUARANTEED: &str = "Guaranteed";
const BURSTABLE: &str = "Burstable";
const BEST_EFFORT: &str = "BestEffort";

/// The class of a pod: by its own resources if it has some, else by those of its containers.
pub(super) fn class(spec: &Value) -> &'static str {
    let own = tree::field(spec, "resources");
    if of_pods(own) {
        return of_one(own);
    }
    let containers = tree::list(spec, "initContainers").iter().chain(tree::list(spec, "containers"));
    common(containers.map(|container| of_one(tree::field(container, "resources"))))
}

/// True for resources with an entry that pods can have.
fn of_pods(resources: &Value) -> bool {
    let mut names = tree::entries(resources, "requests").chain(tree::entries(resources, "limits"));
    names.any(|(name, _)| RESOURCES.contains(&name) || name.starts_with("hugepages-"))
}

fn of_one(resources: &Value) -> &'static str {
    common(RESOURCES.into_iter().map(|resource| {
        match (positive(resources, "requests", resource), positive(resources, "limits", resource)) {
            (0, 0) => BEST_EFFORT,
            (request, limit) if request == limit => GUARANTEED,
            _ => BURSTABLE,
        }
    }))
}

/// The class that all have; different ones make a pod burstable.
fn common(classes: impl Iterator<Item = &'static str>) -> &'static str {
    classes.reduce(|one, other| if one == other { one } else { BURSTABLE }).unwrap_or(BEST_EFFORT)
}

fn positive(resources: &Value, key: &str, resource: &str) -> i128 {
    let amount = tree::at(resources, &[key, resource]).as_str();
    amount.and_then(quantity_in_nanos).unwrap_or_default().max(0)
}
