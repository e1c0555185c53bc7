//! The part of `ValidatePodUpdate` about what may change: images, deadlines and tolerations.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::tree;

const SPEC: Path<'static> = Path::root("spec");
/// Upstream appends a difference of its internal structs, which is left out here.
const ONLY: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks the changes between two specs.
pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    for key in ["containers", "initContainers"] {
        if !validate_containers(tree::list(new, key), tree::list(old, key), &SPEC.child(key), errors) {
            return;
        }
    }
    if !validate_deadline(new, old, errors) {
        return;
    }
    validate_tolerations(new, old, errors);
    if new == old {
        return;
    }
    if !is_same_otherwise(new, old) {
        errors.forbidden(&SPEC, ONLY);
    }
}

/// `ValidateContainerUpdates`. Says whether the lists can be compared.
fn validate_containers(new: &[Value], old: &[Value], path: &Path<'_>, errors: &mut Errors) -> bool {
    if new.len() != old.len() {
        errors.forbidden(path, "pod updates may not add or remove containers");
        return false;
    }
    for (index, container) in new.iter().enumerate() {
        let image = tree::text(container, "image");
        let path = path.index(index);
        if image.is_empty() {
            errors.required(&path.child("image"), "");
        }
        if image.trim().len() != image.len() {
            errors.invalid(&path.child("image"), image, "must not have leading or trailing whitespace");
        }
    }
    true
}

/// A deadline may be set, and made shorter. Says whether the checks go on.
fn validate_deadline(new: &Value, old: &Value, errors: &mut Errors) -> bool {
    const KEY: &str = "activeDeadlineSeconds";
    let path = SPEC.child(KEY);
    match (tree::maybe_int(new, KEY), tree::maybe_int(old, KEY)) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            errors.invalid(&path, new, "must be between 0 and 2147483647, inclusive");
            false
        }
        (Some(new), Some(old)) if old < new => {
            errors.invalid(&path, new, "must be less than or equal to previous value");
            false
        }
        (None, Some(_)) => {
            errors.invalid(&path, &Value::Null, "must not update from a positive integer to nil value");
            true
        }
        _ => true,
    }
}

fn validate_tolerations(new: &Value, old: &Value, errors: &mut Errors) {
    fn without_seconds(toleration: &Value) -> impl Iterator<Item = (&String, &Value)> {
        toleration.as_object().into_iter().flatten().filter(|(key, _)| *key != "tolerationSeconds")
    }
    let path = SPEC.child("tolerations");
    let new_ones = tree::list(new, "tolerations");
    let keeps = |old: &Value| new_ones.iter().any(|new| without_seconds(new).eq(without_seconds(old)));
    if !tree::list(old, "tolerations").iter().all(keeps) {
        errors.forbidden(&path, "existing toleration can not be modified except its tolerationSeconds");
    }
}

/// True if the specs are the same but for the fields that may change.
fn is_same_otherwise(new: &Value, old: &Value) -> bool {
    const CONTAINERS: [&str; 2] = ["containers", "initContainers"];
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
    let (Some(new_fields), Some(old_fields)) = (new.as_object(), old.as_object()) else {
        return new == old;
    };
    let mut keys = new_fields.keys().chain(old_fields.keys()).filter(|key| !may_change(key));
    keys.all(|key| tree::same(tree::field(new, key), tree::field(old, key)))
        && CONTAINERS.iter().all(|key| {
            let pairs = tree::list(new, key).iter().zip(tree::list(old, key));
            pairs.into_iter().all(|(new, old)| is_same_but_image(new, old))
        })
}

fn is_same_but_image(new: &Value, old: &Value) -> bool {
    let (Some(new_fields), Some(old_fields)) = (new.as_object(), old.as_object()) else {
        return new == old;
    };
    let mut keys = new_fields.keys().chain(old_fields.keys()).filter(|key| *key != "image");
    keys.all(|key| tree::same(tree::field(new, key), tree::field(old, key)))
}
