//! Annotations of pods that have a meaning.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::tree;

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// `ValidatePodSpecificAnnotations`.
pub(super) fn validate(annotations: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if let Some(value) = tree::maybe_text(annotations, MIRROR)
        && tree::text(spec, "nodeName").is_empty()
    {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.invalid(&path.key(MIRROR), value, detail);
    }
    if let Some(cost) = tree::maybe_text(annotations, DELETION_COST) {
        // A leading plus and leading zeros are refused, as upstream does on top of strconv.
        let is_plain = !cost.starts_with('+') && (cost == "0" || !cost.starts_with('0'));
        if !is_plain || cost.parse::<i32>().is_err() {
            errors.invalid(&path.key(DELETION_COST), cost, "must be a 32bit integer");
        }
    }
}

/// `ValidatePodSpecificAnnotationUpdates`.
pub(super) fn validate_changes(object: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::root("metadata.annotations");
    let value = |object| tree::at(object, &["metadata", "annotations", MIRROR]).as_str();
    match (value(object), value(old)) {
        (new, Some(old)) if new != Some(old) => {
            errors.forbidden(&path.key(MIRROR), "may not remove or update mirror pod annotation");
        }
        (Some(_), None) => errors.forbidden(&path.key(MIRROR), "may not add mirror pod annotation"),
        _ => {}
    }
    let annotations = tree::at(object, &["metadata", "annotations"]);
    validate(annotations, tree::field(object, "spec"), &path, errors);
}
