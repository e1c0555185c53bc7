//! Leases: `pkg/registry/coordination/lease`. Only their metadata is checked.

use serde_json::Value;

use super::content;
use super::field::Errors;
use super::metadata;
use super::strategy::{Scope, Strategy};

/// The rules of Leases.
pub(super) struct Lease;

impl Strategy for Lease {
    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        metadata::validate(object, true, content::subdomain_name, errors);
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_update(object, old, errors);
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }
}
