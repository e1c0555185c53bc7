//! The part of `ValidatePodUpdate` about what may change.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::tree;

const SPEC: Path<'static> = Path::root("spec");
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Fields that may change, in whatever way.
const FREE: [&str; 3] = ["activeDeadlineSeconds", "schedulingGates", "tolerations"];

/// Upstream appends a difference of its internal structs, which is left out here.
const ONLY: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks the changes between two specs.
pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    for key in CONTAINERS {
        if tree::list(new, key).len() != tree::list(old, key).len() {
            errors.forbidden(&SPEC.child(key), "pod updates may not add or remove containers");
            return;
        }
        let path = SPEC.child(key);
        for (index, container) in tree::list(new, key).iter().enumerate() {
            // Upstream says so twice.
            if tree::text(container, "image").is_empty() {
                errors.required(&path.index(index).child("image"), "");
            }
        }
    }
    let is_gated = !tree::list(old, "schedulingGates").is_empty();
    let may_change = |key: &str| {
        FREE.contains(&key)
            || CONTAINERS.contains(&key)
            || (is_gated && matches!(key, "nodeSelector" | "affinity"))
    };
    let is_same = is_same_but(new, old, may_change)
        && CONTAINERS.iter().all(|key| {
            let mut pairs = tree::list(new, key).iter().zip(tree::list(old, key));
            pairs.all(|(new, old)| is_same_but(new, old, |key| key == "image"))
        });
    if !is_same {
        errors.forbidden(&SPEC, ONLY);
    }
}

/// True if two objects have the same fields, apart from some.
fn is_same_but(new: &Value, old: &Value, may_change: impl Fn(&str) -> bool) -> bool {
    let keys = |object: &Value| {
        object.as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect::<Vec<_>>()
    };
    let mut all = keys(new).into_iter().chain(keys(old));
    all.all(|key| may_change(&key) || tree::same(tree::field(new, &key), tree::field(old, &key)))
}
