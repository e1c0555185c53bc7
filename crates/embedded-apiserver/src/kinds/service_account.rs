//! Service accounts: `pkg/registry/core/serviceaccount`.

use serde_json::Value;

use super::content;
use super::field::Errors;
use super::metadata;
use super::strategy::{Scope, Strategy};

/// The rules of service accounts.
pub(super) struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        metadata::validate_own(object, true, content::subdomain_name, errors);
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_own_update(object, old, errors);
        metadata::validate_own(object, true, content::subdomain_name, errors);
    }
}
