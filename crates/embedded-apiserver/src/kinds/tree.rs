//! Reading and changing canonical trees: an absent field is the zero value.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// The field, or null.
pub(crate) fn field<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&NULL)
}

/// The field at the end of the path, or null.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, key| field(value, key))
}

/// The string of the field; empty if absent.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    field(value, key).as_str().unwrap_or_default()
}

/// The string of the field, if it is set.
pub(crate) fn maybe_text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    field(value, key).as_str()
}

/// The number of the field; 0 if absent.
pub(crate) fn int(value: &Value, key: &str) -> i64 {
    field(value, key).as_i64().unwrap_or_default()
}

/// The number of the field, if it is set.
pub(crate) fn maybe_int(value: &Value, key: &str) -> Option<i64> {
    field(value, key).as_i64()
}

/// The boolean of the field; false if absent.
pub(crate) fn flag(value: &Value, key: &str) -> bool {
    field(value, key).as_bool().unwrap_or_default()
}

/// The items of the field; none if absent.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    field(value, key).as_array().map_or(&[], Vec::as_slice)
}

/// The strings of the field; none if absent.
pub(crate) fn texts<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    list(value, key).iter().filter_map(Value::as_str).collect()
}

/// The entries of the field; none if absent.
pub(crate) fn entries<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    field(value, key).as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// True if the field is set to something else than null.
pub(crate) fn has(value: &Value, key: &str) -> bool {
    !field(value, key).is_null()
}

/// True for null, an empty list and an empty map.
pub(crate) fn is_void(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// True if both hold the same, and an absent list or map is an empty one.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    a == b || (is_void(a) && is_void(b))
}

/// The fields, made if the value is not an object.
pub(crate) fn fields_mut(value: &mut Value) -> &mut Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => {
            *other = Value::Object(Map::new());
            fields_mut(other)
        }
    }
}

/// The field, null if it was absent.
pub(crate) fn field_mut<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    let fields = fields_mut(value);
    if !fields.contains_key(key) {
        fields.insert(key.to_owned(), Value::Null);
    }
    fields.entry(key).or_insert(Value::Null)
}

/// The field, if it is set to something else than null.
pub(crate) fn present_mut<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    value.get_mut(key).filter(|value| !value.is_null())
}

/// The items of the field; none if absent.
pub(crate) fn list_mut<'a>(value: &'a mut Value, key: &str) -> &'a mut [Value] {
    match value.get_mut(key) {
        Some(Value::Array(items)) => items,
        _ => &mut [],
    }
}

/// Sets the field.
pub(crate) fn set(value: &mut Value, key: &str, new: impl Into<Value>) {
    fields_mut(value).insert(key.to_owned(), new.into());
}

/// Adds an item to the list of the field, made if it is absent.
pub(crate) fn push(value: &mut Value, key: &str, item: impl Into<Value>) {
    match field_mut(value, key) {
        Value::Array(items) => items.push(item.into()),
        other => *other = Value::Array(vec![item.into()]),
    }
}

/// Sets the field to a copy of another object's field, or removes it if that has none.
pub(crate) fn copy(value: &mut Value, key: &str, from: &Value) {
    match from.get(key) {
        Some(new) => set(value, key, new.clone()),
        None => remove(value, key),
    }
}

/// Sets the field unless it is set.
pub(crate) fn set_default(value: &mut Value, key: &str, new: impl Into<Value>) {
    if !has(value, key) {
        set(value, key, new);
    }
}

/// Sets the string unless it is set and not empty.
pub(crate) fn set_default_text(value: &mut Value, key: &str, new: &str) {
    if text(value, key).is_empty() {
        set(value, key, new);
    }
}

/// Removes the field.
pub(crate) fn remove(value: &mut Value, key: &str) {
    if let Value::Object(fields) = value {
        fields.remove(key);
    }
}

/// The object with kind and apiVersion.
pub(crate) fn with_head(mut object: Value, api_version: &str, kind: &str) -> Value {
    set(&mut object, "kind", kind);
    set(&mut object, "apiVersion", api_version);
    object
}

/// The object without kind and apiVersion.
pub(crate) fn without_head(mut object: Value) -> Value {
    remove(&mut object, "kind");
    remove(&mut object, "apiVersion");
    object
}
