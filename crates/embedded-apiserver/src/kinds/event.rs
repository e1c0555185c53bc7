//! Events: `pkg/registry/core/event` and `pkg/apis/core/validation/events.go`.

use serde_json::Value;

use super::checks;
use super::content;
use super::field::{Errors, Path};
use super::strategy::{Scope, Strategy};
use super::tree;

/// The rules of Events.
pub(super) struct Event;

const LIMIT: usize = 128;
const NOTE_LIMIT: usize = 1024;

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
    let fits = match (tree::has(object, "eventTime"), involved.is_empty()) {
        (false, true) => matches!(namespace, "" | "default"),
        (false, false) => namespace == involved,
        (true, true) => matches!(namespace, "default" | "kube-system"),
        (true, false) => true,
    };
    if !fits {
        errors.invalid(&path, involved, "does not match event.namespace");
    }
    if tree::has(object, "eventTime") {
        validate_reported(object, errors);
    }
    errors.invalid_each(&Path::root("namespace"), namespace, &content::dns_subdomain(namespace));
}

fn validate_reported(object: &Value, errors: &mut Errors) {
    let reporter = tree::text(object, "reportingComponent");
    let path = Path::root("reportingComponent");
    if reporter.is_empty() {
        errors.required(&path, "");
    }
    checks::qualified(reporter, &path, errors);
    for key in ["reportingInstance", "action", "reason"] {
        let value = tree::text(object, key);
        if value.is_empty() {
            errors.required(&Path::root(key), "");
        }
        if value.len() > LIMIT {
            errors.invalid(&Path::root(key), "", &format!("can have at most {LIMIT} characters"));
        }
    }
    if tree::text(object, "message").len() > NOTE_LIMIT {
        errors.invalid(&Path::root("message"), "", &format!("can have at most {NOTE_LIMIT} characters"));
    }
}
