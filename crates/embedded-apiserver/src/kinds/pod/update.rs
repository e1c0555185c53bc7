//! The part of `ValidatePodUpdate` about what may change: images, deadlines and tolerations, however they do.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::tree;

const SPEC: Path<'static> = Path::root("spec");
/// Upstream appends a difference of its internal structs, which is left out here.
const ONLY: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Checks the changes between two specs.
pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    for key in CONTAINERS {
        if tree::list(new, key).len() != tree::list(old, key).len() {
            errors.forbidden(&SPEC.child(key), "pod updates may not add or remove containers");
            return;
        }
    }
    if !is_same_otherwise(new, old) {
        errors.forbidden(&SPEC, ONLY);
    }
}

/// True if the specs are the same but for the fields that may change.
fn is_same_otherwise(new: &Value, old: &Value) -> bool {
    const FREE: [&str; 3] = ["activeDeadlineSeconds", "schedulingGates", "tolerations"];
    let is_gated = !tree::list(old, "schedulingGates").is_empty();
    let grace_is_mended = tree::int(old, "terminationGracePeriodSeconds") < 0
        && tree::int(new, "terminationGracePeriodSeconds") == 1;
    let may_change = |key: &str| {
        FREE.contains(&key)
            || CONTAINERS.contains(&key)
            || (is_gated && matches!(key, "nodeSelector" | "affinity"))
            || (grace_is_mended && key == "terminationGracePeriodSeconds")
    };
    is_same_but(new, old, may_change)
        && CONTAINERS.iter().all(|key| {
            let mut pairs = tree::list(new, key).iter().zip(tree::list(old, key));
            pairs.all(|(new, old)| is_same_but(new, old, |key| key == "image"))
        })
}

fn is_same_but(new: &Value, old: &Value, may_change: impl Fn(&str) -> bool) -> bool {
    let (Some(new_fields), Some(old_fields)) = (new.as_object(), old.as_object()) else {
        return new == old;
    };
    let mut keys = new_fields.keys().chain(old_fields.keys()).filter(|key| !may_change(key));
    keys.all(|key| tree::same(tree::field(new, key), tree::field(old, key)))
}
