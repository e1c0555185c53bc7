//! Security contexts of pods and containers: the numbers of users and groups. The rest is stored unchecked.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::tree;

/// Checks a pod's security context (`validatePodSpecSecurityContext`).
pub(super) fn validate_pod(context: &Value, path: &Path<'_>, errors: &mut Errors) {
    validate_ids(context, &["fsGroup", "runAsUser", "runAsGroup"], path, errors);
    let groups = path.child("supplementalGroups");
    for (index, group) in tree::list(context, "supplementalGroups").iter().enumerate() {
        validate_id(group, &groups.index(index), errors);
    }
}

/// Checks a container's security context (`ValidateSecurityContext`).
pub(super) fn validate_container(context: &Value, path: &Path<'_>, errors: &mut Errors) {
    validate_ids(context, &["runAsUser", "runAsGroup"], path, errors);
}

fn validate_ids(context: &Value, keys: &[&str], path: &Path<'_>, errors: &mut Errors) {
    for key in keys {
        validate_id(tree::field(context, key), &path.child(key), errors);
    }
}

fn validate_id(id: &Value, path: &Path<'_>, errors: &mut Errors) {
    if let Some(id) = id.as_i64()
        && !(0..=i64::from(i32::MAX)).contains(&id)
    {
        errors.invalid(path, id, "must be between 0 and 2147483647, inclusive");
    }
}
