//! Reading and changing `metadata` of a tree.

use serde_json::{Map, Value};

/// A text of the metadata; empty if it is absent.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|meta| meta.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// A number of the metadata.
pub(crate) fn number(object: &Value, field: &str) -> Option<i64> {
    object.get("metadata")?.get(field)?.as_i64()
}

/// True if the metadata has a field.
pub(crate) fn has(object: &Value, field: &str) -> bool {
    object.get("metadata").and_then(|meta| meta.get(field)).is_some_and(|value| !value.is_null())
}

/// True if the object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    has(object, "deletionTimestamp")
}

/// The finalizers.
pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    let finalizers = object.get("metadata").and_then(|meta| meta.get("finalizers")).and_then(Value::as_array);
    finalizers.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Replaces the finalizers.
pub(crate) fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    if finalizers.is_empty() {
        remove(object, "finalizers");
    } else {
        set(object, "finalizers", finalizers.to_vec().into());
    }
}

/// Sets a field of the metadata.
pub(crate) fn set(object: &mut Value, field: &str, value: Value) {
    fields(object).insert(field.to_owned(), value);
}

/// Removes a field of the metadata.
pub(crate) fn remove(object: &mut Value, field: &str) {
    if let Some(Value::Object(meta)) = object.get_mut("metadata") {
        meta.remove(field);
    }
}

/// The metadata, made if there is none.
pub(crate) fn fields(object: &mut Value) -> &mut Map<String, Value> {
    map(map(object).entry("metadata").or_insert(Value::Null))
}

/// The fields of an object; anything else becomes one.
pub(crate) fn map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(fields) => fields,
        // Made an object above.
        _ => map(value),
    }
}

/// Restores an empty list of managed fields, which asks to forget them and which canonical trees leave out. `sent` is what
/// the client made.
pub(crate) fn keep_reset(object: &mut Value, sent: &Value) {
    if sent
        .pointer("/metadata/managedFields")
        .is_some_and(|fields| fields.as_array().is_some_and(Vec::is_empty))
    {
        set(object, "managedFields", Value::Array(Vec::new()));
    }
}

/// Drops repeated owner references, and returns the uids of those dropped.
pub(crate) fn drop_repeated_owners(object: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    if let Some(Value::Array(owners)) =
        object.get_mut("metadata").and_then(|meta| meta.get_mut("ownerReferences"))
    {
        let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
        for owner in owners.drain(..) {
            if kept.contains(&owner) {
                let uid = owner.get("uid").and_then(Value::as_str).unwrap_or_default();
                dropped.push(uid.to_owned());
            } else {
                kept.push(owner);
            }
        }
        *owners = kept;
    }
    dropped
}
