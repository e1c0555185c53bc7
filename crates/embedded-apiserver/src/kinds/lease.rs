//! Leases: `pkg/registry/coordination/lease` and `pkg/apis/coordination/validation`.

use serde_json::Value;

use super::field::{Errors, Path};
use super::strategy::{Scope, Strategy};
use super::{content, metadata};
use crate::tree;

/// The rules of Leases.
pub(super) struct Lease;

/// Fields of coordinated leader election, which is off by default.
const GATED: [&str; 2] = ["strategy", "preferredHolder"];

impl Strategy for Lease {
    fn prepare_for_create(&self, _scope: &Scope<'_>, object: &mut Value) {
        if let Some(spec) = tree::present_mut(object, "spec") {
            for key in GATED {
                tree::remove(spec, key);
            }
        }
    }

    fn prepare_for_update(&self, _scope: &Scope<'_>, object: &mut Value, old: &Value) {
        if let Some(spec) = tree::present_mut(object, "spec") {
            for key in GATED.into_iter().filter(|key| !tree::has(tree::field(old, "spec"), key)) {
                tree::remove(spec, key);
            }
        }
    }

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
