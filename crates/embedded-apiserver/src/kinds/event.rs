//! Events: `pkg/registry/core/event` and `pkg/apis/core/validation/events.go`.

use serde_json::Value;

use super::content;
use super::field::{Errors, Path};
use super::strategy::{Scope, Strategy};
use super::tree;

/// The rules of Events.
pub(super) struct Event;

impl Strategy for Event {
    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        validate(object, errors);
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, _old: &Value, errors: &mut Errors) {
        validate(object, errors);
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn is_collected(&self) -> bool {
        false
    }
}

/// `legacyValidateEvent`.
fn validate(object: &Value, errors: &mut Errors) {
    let namespace = tree::text(tree::field(object, "metadata"), "namespace");
    let involved = tree::text(tree::field(object, "involvedObject"), "namespace");
    let path = Path::root("involvedObject.namespace");
    let fits = if involved.is_empty() { matches!(namespace, "" | "default") } else { namespace == involved };
    if !fits {
        errors.invalid(&path, involved, "does not match event.namespace");
    }
    errors.invalid_each(&Path::root("namespace"), namespace, &content::dns_subdomain(namespace));
}
