//! Values as Go prints them, for the texts of errors.

use serde_json::Value;

use crate::codec::json::encode_untyped;
pub(crate) use crate::go_quote::quote as quoted;

/// `%v`: `map[a:1 b:[x y]]`, `<nil>`.
pub(crate) fn plain(value: &Value) -> String {
    let mut text = String::new();
    write_plain(value, &mut text);
    text
}

fn write_plain(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::Bool(is) => text.push_str(if *is { "true" } else { "false" }),
        Value::Number(_) => text.push_str(&json(value)),
        Value::String(string) => text.push_str(string),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                write_plain(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push_str("map[");
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                text.push_str(name);
                text.push(':');
                write_plain(field, text);
            }
            text.push(']');
        }
    }
}

/// JSON as Go's encoders write it: `<`, `>`, `&` and two line separators escaped, whole floats without a fraction.
pub(crate) fn json(value: &Value) -> String {
    let mut out = Vec::with_capacity(32);
    encode_untyped(value, &mut out);
    // The encoder writes UTF-8 only.
    String::from_utf8(out).unwrap_or_default()
}
