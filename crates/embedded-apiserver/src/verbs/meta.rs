//! Reading and changing `metadata` of a tree.

use serde_json::Value;

use crate::kinds::tree;

/// A text of the metadata; empty if it is absent.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    tree::text(tree::field(object, "metadata"), field)
}

/// A number of the metadata.
pub(crate) fn number(object: &Value, field: &str) -> Option<i64> {
    tree::maybe_int(tree::field(object, "metadata"), field)
}

/// True if the metadata has a field.
pub(crate) fn has(object: &Value, field: &str) -> bool {
    tree::has(tree::field(object, "metadata"), field)
}

/// True if the object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    has(object, "deletionTimestamp")
}

/// The finalizers.
pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    tree::texts(tree::field(object, "metadata"), "finalizers").into_iter().map(str::to_owned).collect()
}

/// Sets a field of the metadata.
pub(crate) fn set(object: &mut Value, field: &str, value: Value) {
    tree::set(tree::field_mut(object, "metadata"), field, value);
}

/// Removes a field of the metadata.
pub(crate) fn remove(object: &mut Value, field: &str) {
    if let Some(meta) = object.get_mut("metadata") {
        tree::remove(meta, field);
    }
}
