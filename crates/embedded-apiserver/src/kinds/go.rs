//! Values as Go prints them.

use serde_json::Value;

pub(crate) use crate::go_quote::{is_printable, quote};
pub(crate) use crate::patch::go_text::json;

/// The fields of the object in the order of Go's struct, as JSON.
pub(crate) fn ordered(object: &Value, keys: &[&str]) -> String {
    let fields = keys.iter().filter_map(|key| Some(format!("\"{key}\":{}", json(object.get(*key)?))));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}
