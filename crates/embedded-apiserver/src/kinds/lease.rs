//! Leases: `pkg/registry/coordination/lease` and `pkg/apis/coordination/validation`.

use serde_json::Value;

use super::content;
use super::field::{Errors, Path};
use super::metadata;
use super::strategy::{Scope, Strategy};
use super::tree;

/// The rules of Leases.
pub(super) struct Lease;

impl Strategy for Lease {
    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        metadata::validate(object, true, content::subdomain_name, errors);
        validate_spec(object, errors);
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_update(object, old, errors);
        validate_spec(object, errors);
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }
}

fn validate_spec(object: &Value, errors: &mut Errors) {
    let spec = tree::field(object, "spec");
    let path = Path::root("spec");
    if let Some(seconds) = tree::maybe_int(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.invalid(&path.child("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    if let Some(count) = tree::maybe_int(spec, "leaseTransitions").filter(|count| *count < 0) {
        errors.invalid(&path.child("leaseTransitions"), count, "must be greater than or equal to 0");
    }
}
