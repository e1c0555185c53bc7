//! Constraints of scheduling: node affinity, topology spread. Affinity to other pods, and preferences, are stored unchecked.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::{checks, content, tree};

/// `validateNodeAffinity`: the required terms, without their `matchFields`.
pub(super) fn validate_affinity(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let selector = tree::at(spec, &["affinity", "nodeAffinity", REQUIRED]);
    if selector.is_null() {
        return;
    }
    let path = path.child("nodeAffinity");
    let path = path.child(REQUIRED);
    let path = path.child("nodeSelectorTerms");
    let terms = tree::list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        errors.required(&path, "must have at least one node selector term");
    }
    for (index, term) in terms.iter().enumerate() {
        let path = path.index(index);
        let path = path.child("matchExpressions");
        for (index, requirement) in tree::list(term, "matchExpressions").iter().enumerate() {
            validate_requirement(requirement, &path.index(index), errors);
        }
    }
}

/// `ValidateNodeSelectorRequirement`.
fn validate_requirement(requirement: &Value, path: &Path<'_>, errors: &mut Errors) {
    let values = tree::texts(requirement, "values");
    let values_path = path.child("values");
    match tree::text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            errors.required(&values_path, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => errors
            .forbidden(&values_path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
        "Gt" | "Lt" if values.len() != 1 => {
            errors.required(&values_path, "must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            errors.invalid(&path.child("operator"), Value::from(other), "not a valid selector operator");
        }
    }
    checks::qualified(tree::text(requirement, "key"), &path.child("key"), errors);
    for (index, value) in values.into_iter().enumerate() {
        errors.invalid_each(&values_path.index(index), value, &content::label_value(value));
    }
}

/// `validateTopologySpreadConstraints`, without its optional fields.
pub(super) fn validate_spread(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let constraints = tree::list(spec, "topologySpreadConstraints");
    let parts =
        |constraint| (tree::text(constraint, "topologyKey"), tree::text(constraint, "whenUnsatisfiable"));
    for (index, constraint) in constraints.iter().enumerate() {
        let path = path.index(index);
        let skew = tree::int(constraint, "maxSkew");
        if skew <= 0 {
            errors.invalid(&path.child("maxSkew"), skew, "must be greater than zero");
        }
        let (key, action) = parts(constraint);
        if key.is_empty() {
            errors.required(&path.child("topologyKey"), "can not be empty");
        }
        let known = ["DoNotSchedule", "ScheduleAnyway"];
        if !known.contains(&action) {
            errors.not_supported(&path.child("whenUnsatisfiable"), Value::from(action), &known);
        }
        let mut rest = constraints.iter().skip(index + 1);
        if rest.any(|other| parts(other) == (key, action)) {
            let path = path.child("{topologyKey, whenUnsatisfiable}");
            errors.duplicate(&path, format!("{{{key}, {action}}}").as_str());
        }
        checks::label_selector(
            tree::field(constraint, "labelSelector"),
            &path.child("labelSelector"),
            errors,
        );
    }
}
