//! The annotation of `kubectl apply` without `--server-side`, for kubectl's change from one to the other.

use serde_json::{Map, Value};

use crate::patch::go_text;

use super::FieldManager;
use super::check::check;
use super::collect::collect;
use super::compare::compare;
use super::set::Set;
use super::shape::Shape;

/// The only manager that the annotation concerns.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The most bytes of keys and values of all annotations.
const MOST_ANNOTATION_BYTES: usize = 256 * 1024;

fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.get("annotations")?.as_object()
}

/// The annotation, unless it is empty.
fn annotation(object: &Value) -> Option<&str> {
    annotations(object)?.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

/// Calls `use_fields` with the fields that kubectl has applied without `--server-side` and no other client has changed since.
/// Source: apimachinery `allowedConflictsFromLastApplied`.
///
/// `None` if there is no annotation that fits the object.
pub(super) fn unchanged<T>(
    manager: &FieldManager<'_>,
    live: &Value,
    use_fields: impl FnOnce(&Set<'_>) -> T,
) -> Option<T> {
    let applied: Value = serde_json::from_str(annotation(live)?).ok()?;
    let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != manager.api_version || text("kind").is_empty() {
        return None;
    }
    let shape = Shape::of_type(manager.of);
    for object in [live, &applied] {
        if check(shape, object).is_err() {
            return None;
        }
    }
    let changes = compare(shape, &applied, live);
    let mut fields = collect(shape, &applied);
    fields.subtract(&changes.modified);
    fields.subtract(&changes.added);
    fields.subtract(&changes.removed);
    Some(use_fields(&fields))
}

/// Replaces the annotation by the configuration that is applied now, if the object has one. It is removed if annotations
/// would be too large. Source: apimachinery `lastAppliedUpdater`.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let text = without_annotation(config);
    let size: usize = annotations(object)
        .into_iter()
        .flatten()
        .filter(|(key, _)| *key != ANNOTATION)
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    let fits = size + ANNOTATION.len() + text.len() <= MOST_ANNOTATION_BYTES;
    let Some(annotations) = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    if fits {
        annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    } else {
        annotations.remove(ANNOTATION);
    }
}

/// The configuration as JSON in one line.
fn without_annotation(config: &Value) -> String {
    let mut config = config.clone();
    if let Some(annotations) = config
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    let mut text = go_text::json(&config);
    text.push('\n');
    text
}
