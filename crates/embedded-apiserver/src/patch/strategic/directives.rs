//! The parts of a patch that are not values.

use serde_json::Value;

/// The key of a directive in an object: `delete` or `replace`.
pub(super) const DIRECTIVE: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
pub(super) const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// The list that `$setElementOrder/ports` or `$deleteFromPrimitiveList/finalizers` is about.
pub(super) fn list_of_directive<'a>(key: &'a str, prefix: &str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix('/')
}

/// Copies a value without the objects in it that contain `$patch`; `None` if it is such an object itself. The value loses
/// them too, except for the items of a list: upstream removes those from its copy alone.
pub(super) fn remove_directives(value: &mut Value) -> Option<Value> {
    match value {
        Value::Array(items) => {
            Some(items.iter_mut().filter_map(|item| strip(item).then(|| item.clone())).collect())
        }
        other => strip(other).then(|| other.clone()),
    }
}

/// Removes objects that contain `$patch`. False if the value is one.
fn strip(value: &mut Value) -> bool {
    match value {
        Value::Object(fields) => {
            let stays = !fields.contains_key(DIRECTIVE);
            if stays {
                fields.retain(|_, field| strip(field));
            }
            stays
        }
        Value::Array(items) => {
            items.retain_mut(strip);
            true
        }
        _ => true,
    }
}

/// True if an item asks for the deletion of its namesake.
pub(super) fn deletes(item: &Value) -> bool {
    item.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}
