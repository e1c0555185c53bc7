//! Reading canonical trees: an absent field is the zero value.

use jiff::Timestamp;
use serde_json::Value;

use super::duration;

pub(super) const NONE: &str = "<none>";

/// The string of the field; empty if absent.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The string of the field, or `other` if it is absent or empty.
pub(super) fn text_or<'a>(value: &'a Value, key: &str, other: &'a str) -> &'a str {
    let text = text(value, key);
    if text.is_empty() { other } else { text }
}

/// The number of the field; 0 if absent.
pub(super) fn int(value: &Value, key: &str) -> i64 {
    value.get(key).and_then(Value::as_i64).unwrap_or_default()
}

/// The boolean of the field; false if absent.
pub(super) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// The items of the field; none if absent.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The strings of the field, joined by commas.
pub(super) fn joined(value: &Value, key: &str) -> String {
    list(value, key).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
}

/// The field if it is set.
pub(super) fn part<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|part| !part.is_null())
}

/// The field; null if absent.
pub(super) fn child<'a>(value: &'a Value, key: &str) -> &'a Value {
    static NULL: Value = Value::Null;
    value.get(key).unwrap_or(&NULL)
}

/// The point in time of the field; none if it is absent or not one.
pub(super) fn time(value: &Value, key: &str) -> Option<Timestamp> {
    text(value, key).parse().ok()
}

/// Prints times as their distance from now.
#[derive(Clone, Copy)]
pub(super) struct Age {
    pub(super) now: Timestamp,
}

impl Age {
    pub(super) fn of(self, time: Option<Timestamp>) -> String {
        time.map_or_else(|| "<unknown>".to_owned(), |time| duration::human(self.now.duration_since(time)))
    }

    pub(super) fn of_object(self, object: &Value) -> Value {
        self.of(time(child(object, "metadata"), "creationTimestamp")).into()
    }
}

pub(super) fn name(object: &Value) -> Value {
    object.get("metadata").map_or("", |metadata| text(metadata, "name")).into()
}
