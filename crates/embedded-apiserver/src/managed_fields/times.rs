//! The times of entries when nothing else has changed.

use serde_json::{Map, Value};

use super::{set_entries, stored_entries};

/// Restores the times of entries if the two versions of an object differ in nothing else, so that a write without effect does
/// not change the object. Called after the rules of the kind. Source: apiserver `IgnoreManagedFieldsTimestampsTransformer`.
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
    equal_without(old_metadata, new_metadata, "managedFields") && equal_without(old, new, "metadata")
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
