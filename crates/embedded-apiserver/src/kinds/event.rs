//! Events: `pkg/registry/core/event` and `pkg/apis/core/validation/events.go`. Both groups show one storage, that of the
//! core group.

use serde_json::{Value, json};

use super::checks;
use super::content;
use super::field::{Errors, Path};
use super::go;
use super::metadata;
use super::strategy::{Scope, Strategy};
use super::tree;

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
            validate_series(object, errors);
            validate_new(object, errors);
        }
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        self.validate_always(object, errors);
        if self.strict {
            metadata::validate_own_update(object, old, errors);
            if tree::field(object, "series") != tree::field(old, "series") {
                validate_series(object, errors);
            }
            validate_changes(object, old, errors);
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

fn validate_series(object: &Value, errors: &mut Errors) {
    if !tree::has(object, "series") {
        return;
    }
    let series = tree::field(object, "series");
    if tree::int(series, "count") < 2 {
        errors.invalid(&Path::root("series.count"), "", "should be at least 2");
    }
    if !tree::has(series, "lastObservedTime") {
        errors.required(&Path::root("series.lastObservedTime"), "");
    }
}

/// Checks the fields that new Events of `events.k8s.io` must have, and those of the core group that they must not have.
fn validate_new(object: &Value, errors: &mut Errors) {
    if !tree::has(object, "eventTime") {
        errors.required(&Path::root("eventTime"), "");
    }
    let kind = tree::text(object, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.invalid(&Path::root("type"), "", &format!("has invalid value: {kind}"));
    }
    for key in ["firstTimestamp", "lastTimestamp"] {
        if tree::has(object, key) {
            errors.invalid(&Path::root(key), "", "needs to be unset");
        }
    }
    if tree::int(object, "count") != 0 {
        errors.invalid(&Path::root("count"), "", "needs to be unset");
    }
    if tree::entries(object, "source").next().is_some() {
        errors.invalid(&Path::root("source"), "", "needs to be unset");
    }
}

/// Nothing of an Event but its series changes by `events.k8s.io`.
fn validate_changes(object: &Value, old: &Value, errors: &mut Errors) {
    const REFERENCE: &[(&str, &str)] = &[
        ("Kind", "kind"),
        ("Namespace", "namespace"),
        ("Name", "name"),
        ("UID", "uid"),
        ("APIVersion", "apiVersion"),
        ("ResourceVersion", "resourceVersion"),
        ("FieldPath", "fieldPath"),
    ];
    const SOURCE: &[(&str, &str)] = &[("Component", "component"), ("Host", "host")];
    let mut check = |key: &str, path: &str, shown: Option<&[(&str, &str)]>| {
        let new = tree::field(object, key);
        if tree::same(new, tree::field(old, key)) {
            return;
        }
        match shown {
            Some(names) if !new.is_null() => {
                errors.invalid(&Path::root(path), internal(new, names), "field is immutable");
            }
            _ => {
                let zero = match key {
                    "firstTimestamp" | "lastTimestamp" | "eventTime" | "related" => Value::Null,
                    "count" => json!(0),
                    _ => json!(""),
                };
                let new = if new.is_null() { &zero } else { new };
                errors.invalid(&Path::root(path), new, "field is immutable");
            }
        }
    };
    check("involvedObject", "involvedObject", Some(REFERENCE));
    check("reason", "reason", None);
    check("message", "message", None);
    check("source", "source", Some(SOURCE));
    for key in ["firstTimestamp", "lastTimestamp", "count", "reason", "type", "eventTime", "action"] {
        check(key, key, None);
    }
    check("related", "related", Some(REFERENCE));
    check("reportingComponent", "reportingController", None);
    check("reportingInstance", "reportingInstance", None);
}

/// The value as upstream prints its internal struct, which has no JSON names.
fn internal(value: &Value, names: &[(&str, &str)]) -> String {
    let fields = names.iter().map(|(name, key)| {
        let value = go::json(&Value::from(tree::text(value, key)));
        format!("\"{name}\":{value}")
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}
