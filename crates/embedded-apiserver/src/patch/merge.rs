//! JSON merge patch (RFC 7386), as evanphx/json-patch does it.

use serde_json::{Map, Value};

use crate::status::Status;

/// The object with a merge patch applied: null deletes a field, objects are merged, anything else replaces.
///
/// # Errors
/// 400 if the patch is neither an object nor a list. A list replaces the object, and the decoder of the type refuses it.
pub(crate) fn merge(original: Value, patch: &Value) -> Result<Value, Status> {
    match (original, patch) {
        (Value::Object(mut merged), Value::Object(patch)) => {
            merge_fields(&mut merged, patch);
            Ok(Value::Object(merged))
        }
        (_, Value::Object(_) | Value::Array(_)) => Ok(without_nulls(patch)),
        _ => Err(Status::bad_request("Invalid JSON Patch")),
    }
}

fn merge_fields(original: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, change) in patch {
        if change.is_null() {
            original.remove(name);
            continue;
        }
        match (original.get_mut(name), change) {
            (Some(Value::Object(fields)), Value::Object(changes)) => merge_fields(fields, changes),
            // RFC 7386 has no such case: a list that replaces an object keeps its nulls, any other is cleaned
            (Some(place @ Value::Object(_)), _) => *place = change.clone(),
            (Some(place), _) => *place = without_nulls(change),
            (None, _) => drop(original.insert(name.clone(), without_nulls(change))),
        }
    }
}

/// A copy without fields that are null. Nulls in lists stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, field)| !field.is_null());
            Value::Object(kept.map(|(name, field)| (name.clone(), without_nulls(field))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}
