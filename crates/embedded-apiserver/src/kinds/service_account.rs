//! Service accounts: `pkg/registry/core/serviceaccount`.

use serde_json::{Value, json};

use super::content;
use super::field::Errors;
use super::metadata;
use super::strategy::{Scope, Strategy};
use super::tree;

/// The rules of service accounts.
pub(super) struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn prepare_for_create(&self, _scope: &Scope<'_>, object: &mut Value) {
        keep_names(object);
    }

    fn prepare_for_update(&self, _scope: &Scope<'_>, object: &mut Value, _old: &Value) {
        keep_names(object);
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        metadata::validate_own(object, true, content::subdomain_name, errors);
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_own_update(object, old, errors);
        metadata::validate_own(object, true, content::subdomain_name, errors);
    }
}

/// References to secrets have names and nothing else.
fn keep_names(object: &mut Value) {
    for secret in tree::list_mut(object, "secrets") {
        let name = tree::text(secret, "name");
        *secret = if name.is_empty() { json!({}) } else { json!({ "name": name }) };
    }
}
