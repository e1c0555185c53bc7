//! JSON merge patch (RFC 7386), as evanphx/json-patch does it.

use serde_json::Value;

use super::nulls::drop_nulls;

/// Applies a merge patch: null deletes a field, objects are merged, anything else replaces.
pub(crate) fn merge(original: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        original.clone_from(patch);
        // RFC 7386 has no such case: a list that replaces an object keeps its nulls, any other is cleaned.
        return;
    };
    let Value::Object(fields) = original else {
        original.clone_from(patch);
        return drop_nulls(original);
    };
    for (name, change) in changes {
        match fields.get_mut(name) {
            _ if change.is_null() => drop(fields.remove(name)),
            Some(place) if place.is_object() => merge(place, change),
            _ => {
                let mut change = change.clone();
                drop_nulls(&mut change);
                fields.insert(name.clone(), change);
            }
        }
    }
}
