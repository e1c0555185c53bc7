//! Cells that several kinds have, and the fields that they are made of.

use jiff::Timestamp;
use serde_json::Value;

use super::duration;
use crate::kinds::tree::{field, list, text};

pub(super) const NONE: &str = "<none>";

/// The string of the field, or `other` if it is absent or empty.
pub(super) fn text_or<'a>(value: &'a Value, key: &str, other: &'a str) -> &'a str {
    let text = text(value, key);
    if text.is_empty() { other } else { text }
}

/// The strings of the field, joined by commas.
pub(super) fn joined(value: &Value, key: &str) -> String {
    list(value, key).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
}

/// The field if it is set.
pub(super) fn part<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|part| !part.is_null())
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
        self.of(time(field(object, "metadata"), "creationTimestamp")).into()
    }
}

pub(super) fn name(object: &Value) -> Value {
    text(field(object, "metadata"), "name").into()
}
