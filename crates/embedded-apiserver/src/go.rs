//! Values as Go prints them.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use crate::codec::json::encode_untyped;

/// A string as `%q` prints it (`strconv.Quote`).
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            c if is_printable(c) => quoted.push(c),
            c if c.is_ascii() => drop(write!(quoted, "\\x{:02x}", u32::from(c))),
            c if u32::from(c) < 0x1_0000 => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => drop(write!(quoted, "\\U{:08x}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

/// True if a character is printable, as `strconv.IsPrint` has it: no control character, no space but U+0020, no character of
/// formats or of private use. Unassigned code points count as printable.
pub(crate) fn is_printable(c: char) -> bool {
    let invisible = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{f0000}'..);
    !c.is_control() && !invisible && (c == ' ' || !c.is_whitespace())
}

/// `%v`: `map[a:1 b:[x y]]`, `<nil>`.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(is) => is.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(string) => string.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| format!("{name}:{}", plain(field)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
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
pub(crate) fn float(number: f64) -> String {
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

/// The fields of the object in the order of Go's struct, as JSON.
pub(crate) fn ordered(object: &Value, keys: &[&str]) -> String {
    let fields = keys.iter().filter_map(|key| Some(format!("\"{key}\":{}", json(object.get(*key)?))));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_printable_is_escaped() {
        let text = "a\"\\\n\u{1}\u{7f}\u{85}ü\u{a0}\u{200b}\u{fffd}\u{10fffd}";
        assert_eq!(quote(text), "\"a\\\"\\\\\\n\\x01\\x7f\\u0085ü\\u00a0\\u200b\u{fffd}\\U0010fffd\"");
    }
}
