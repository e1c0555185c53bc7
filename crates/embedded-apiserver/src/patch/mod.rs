//! Patches: JSON merge patch, JSON patch, strategic merge patch. Server-side apply is in [`managed_fields`](crate::managed_fields).
//!
//! They work on trees. The caller decodes the result as the type of the object, which reports what does not fit.

mod json_patch;
mod merge;
mod refusal;
mod strategic;

#[cfg(test)]
mod tests;

pub(crate) use json_patch::{check_operations, json_patch};
pub(crate) use merge::merge;
pub(crate) use strategic::strategic;

use serde_json::Value;

/// Drops fields that are null. Nulls in lists stay.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
