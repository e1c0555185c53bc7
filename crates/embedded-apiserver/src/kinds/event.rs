//! Events: `pkg/registry/core/event` and `pkg/apis/core/validation/events.go`. Both groups show one storage, that of the
//! core group.

use serde_json::{Value, json};

use super::field::{Errors, Path};
use super::strategy::{Scope, Strategy};
use super::{checks, content, metadata};
use crate::tree;

/// The rules of Events.
pub(super) struct Event {
    /// True if the request came by `events.k8s.io`, whose rules are stricter.
    pub(super) strict: bool,
}

/// Fields with another name in `events.k8s.io` and in the core group.
const NAMES: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingComponent"),
];
/// Fields of the core group that Go prints even if they are empty.
const CORE_PRINTED: [(&str, fn() -> Value); 7] = [
    ("involvedObject", || json!({})),
    ("source", || json!({})),
    ("firstTimestamp", || Value::Null),
    ("lastTimestamp", || Value::Null),
    ("eventTime", || Value::Null),
    ("reportingComponent", || json!("")),
    ("reportingInstance", || json!("")),
];
/// Fields of `events.k8s.io` that Go leaves out if they are empty, and prints in the core group.
const OMITTED: [&str; 2] = ["reportingController", "reportingInstance"];
const LIMIT: usize = 128;
const NOTE_LIMIT: usize = 1024;

impl Strategy for Event {
    fn to_storage(&self, object: &mut Value) {
        if !self.strict {
            return;
        }
        rename(object, "v1", |(event, core)| (event, core));
        for (key, empty) in CORE_PRINTED {
            if object.get(key).is_none() {
                tree::set(object, key, empty());
            }
        }
    }

    fn from_storage(&self, object: &mut Value) {
        if !self.strict {
            return;
        }
        rename(object, "events.k8s.io/v1", |(event, core)| (core, event));
        for key in OMITTED {
            if tree::text(object, key).is_empty() {
                tree::remove(object, key);
            }
        }
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        self.validate_always(object, errors);
        if self.strict {
            metadata::validate_own(object, true, content::subdomain_name, errors);
        }
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        self.validate_always(object, errors);
        if self.strict {
            metadata::validate_own_update(object, old, errors);
        }
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn is_collected(&self) -> bool {
        false
    }
}

fn rename(
    object: &mut Value,
    api_version: &str,
    order: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    let fields = tree::fields_mut(object);
    for (from, to) in NAMES.map(order) {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
    if fields.contains_key("apiVersion") {
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
}

impl Event {
    /// `legacyValidateEvent`.
    fn validate_always(&self, object: &Value, errors: &mut Errors) {
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
            self.validate_reported(object, errors);
        }
        errors.invalid_each(&Path::root("namespace"), namespace, &content::dns_subdomain(namespace));
    }

    fn validate_reported(&self, object: &Value, errors: &mut Errors) {
        let reporter = tree::text(object, "reportingComponent");
        let path = Path::root(if self.strict { "reportingController" } else { "reportingComponent" });
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
}
