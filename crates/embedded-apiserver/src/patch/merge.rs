//! JSON merge patch (RFC 7386), as evanphx/json-patch does it.

use serde_json::{Map, Value};

/// Applies a merge patch to an object: null deletes a field, objects are merged, anything else replaces.
pub(crate) fn merge(original: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, change) in patch {
        if change.is_null() {
            original.remove(&name);
            continue;
        }
        match (original.entry(name).or_insert(Value::Null), change) {
            (Value::Object(fields), Value::Object(changes)) => merge(fields, changes),
            // RFC 7386 has no such case: a list that replaces an object keeps its nulls, any other is cleaned.
            (place @ Value::Object(_), list) => *place = list,
            (place, mut other) => {
                drop_nulls(&mut other);
                *place = other;
            }
        }
    }
}

/// Drops fields that are null. Nulls in lists stay.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
