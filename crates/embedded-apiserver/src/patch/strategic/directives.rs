//! The parts of a patch that are no values.

use serde_json::{Map, Value};

use super::failure::{DELETE_FROM_PRIMITIVE_LIST, DIRECTIVE, Failure};

/// The list that `$setElementOrder/ports` or `$deleteFromPrimitiveList/finalizers` is about.
pub(super) fn list_of_directive<'a>(key: &'a str, prefix: &str) -> Result<&'a str, Failure> {
    match key.split_once('/') {
        Some((directive, list)) if directive == prefix => Ok(list),
        _ if prefix == DELETE_FROM_PRIMITIVE_LIST => Err(Failure::BAD_PRIMITIVE_LIST),
        _ => Err(Failure::BAD_ELEMENT_ORDER),
    }
}

/// A value without objects that contain `$patch`. `None` if it is one.
pub(super) fn remove_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            if fields.contains_key(DIRECTIVE) {
                return None;
            }
            let kept = fields.into_iter().filter_map(|(key, field)| Some((key, remove_directives(field)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(remove_directives).collect())),
        other => Some(other),
    }
}

/// Drops fields that are null. Nulls in lists stay.
pub(super) fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// True if an item asks for the deletion of its namesake.
pub(super) fn deletes(item: &Map<String, Value>) -> bool {
    item.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}
