//! The times of entries when nothing else has changed.

use serde_json::{Map, Value};

use super::{set_entries, stored_entries};
use crate::kinds::tree::is_void;

/// Restores the times of entries if the two versions of an object differ in nothing else but empty lists, so that a write
/// without effect does not change the object. Called after the rules of the kind. Source: apiserver `IgnoreManagedFieldsTimestampsTransformer`.
///
/// Cost: compares the objects only if their entries are equal except for times.
pub(crate) fn keep_times(old: &Value, new: &mut Value) {
    let (Some(before), Some(after)) = (entries(old), entries(new)) else { return };
    let equal = before.len() == after.len()
        && before != after
        && before.iter().zip(after).all(|(before, after)| equal_without(before, after, "time"));
    if equal && equal_except_entries(old, new) {
        let before = Value::Array(before.to_vec());
        set_entries(new, Some(before));
    }
}

fn entries(object: &Value) -> Option<&[Value]> {
    stored_entries(object)?.as_array().map(Vec::as_slice)
}

fn equal_except_entries(old: &Value, new: &Value) -> bool {
    let (Some(old_metadata), Some(new_metadata)) = (old.get("metadata"), new.get("metadata")) else {
        return false;
    };
    same_without(old_metadata, new_metadata, "managedFields") && same_without(old, new, "metadata")
}

/// True if two objects are the same apart from one field.
fn same_without(a: &Value, b: &Value, field: &str) -> bool {
    let (Value::Object(a), Value::Object(b)) = (a, b) else { return a == b };
    let same = |name: &String, a: &Value, other: &Map<String, Value>| {
        name == field || other.get(name).map_or_else(|| is_void(a), |b| is_same(a, b))
    };
    a.iter().all(|(name, value)| same(name, value, b))
        && b.iter().all(|(name, value)| a.contains_key(name) || same(name, value, a))
}

/// True if two values are the same for typed objects, to which an empty list or map is none (`equality.Semantic.DeepEqual`).
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(_), Value::Object(_)) => same_without(a, b, ""),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        _ => a == b || is_void(a) && is_void(b),
    }
}

/// True if two objects are equal apart from one field.
fn equal_without(a: &Value, b: &Value, field: &str) -> bool {
    let others = |fields: &Map<String, Value>| fields.len() - usize::from(fields.contains_key(field));
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            others(a) == others(b)
                && a.iter().all(|(name, value)| name == field || b.get(name) == Some(value))
        }
        _ => a == b,
    }
}
