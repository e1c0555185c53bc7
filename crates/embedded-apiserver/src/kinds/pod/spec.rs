//! `ValidatePodSpec`, as far as endpoints depend on it. The rest of a pod is stored unchecked.

use serde_json::Value;

use crate::kinds::field::{Errors, Path};
use crate::kinds::{checks, tree};

use super::containers;

/// Checks a pod spec at the path.
pub(super) fn validate(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    containers::validate_regular(spec, &path.child("containers"), errors);
    containers::validate_init(spec, &path.child("initContainers"), errors);
    let restart = tree::text(spec, "restartPolicy");
    checks::one_of(restart, &["Always", "OnFailure", "Never"], &path.child("restartPolicy"), errors);
    let gates_path = path.child("readinessGates");
    for (index, gate) in tree::list(spec, "readinessGates").iter().enumerate() {
        let path = gates_path.index(index);
        checks::qualified(tree::text(gate, "conditionType"), &path.child("conditionType"), errors);
    }
    validate_names(spec, path, errors);
}

fn validate_names(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let account = tree::text(spec, "serviceAccountName");
    if !account.is_empty() {
        checks::subdomain(account, &path.child("serviceAccountName"), errors);
    }
    let node = tree::text(spec, "nodeName");
    if !node.is_empty() {
        checks::subdomain(node, &path.child("nodeName"), errors);
    }
    for key in ["hostname", "subdomain"] {
        let name = tree::text(spec, key);
        if !name.is_empty() {
            checks::label(name, &path.child(key), errors);
        }
    }
}
