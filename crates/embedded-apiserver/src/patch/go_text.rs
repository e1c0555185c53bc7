//! Values as Go prints them, for the texts of errors.

use serde_json::{Number, Value};

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
        Value::Number(number) => text.push_str(&number_text(number)),
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

/// `%#v`: `map[string]interface {}{"a":1}`, `interface {}(nil)`.
pub(crate) fn sharp(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(string) => quoted(string),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(sharp).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, field)| format!("{}:{}", quoted(name), sharp(field))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        _ => plain(value),
    }
}

/// The Go type of a decoded JSON value, as `%T` prints it.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn number_text(number: &Number) -> String {
    if number.is_f64() { float(number.as_f64().unwrap_or_default()) } else { number.to_string() }
}

/// `%v` of a `float64`: the fewest digits, with an exponent below 1e-4 and from 1e6.
fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// JSON as Go's encoders write it: `<`, `>`, `&` and two line separators escaped, whole floats without a fraction.
pub(crate) fn json(value: &Value) -> String {
    let mut out = Vec::with_capacity(32);
    encode_untyped(value, &mut out);
    // The encoder writes UTF-8 only.
    String::from_utf8(out).unwrap_or_default()
}
