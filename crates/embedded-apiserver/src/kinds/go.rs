//! Values as Go prints them.

use serde_json::Value;

/// The string as `%q` prints it (`strconv.Quote`).
pub(crate) fn quote(text: &str) -> String {
    use std::fmt::Write as _;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            c if is_printable(c) => quoted.push(c),
            c if (c as u32) < 0x80 => _ = write!(quoted, "\\x{:02x}", c as u32),
            c if (c as u32) < 0x1_0000 => _ = write!(quoted, "\\u{:04x}", c as u32),
            c => _ = write!(quoted, "\\U{:08x}", c as u32),
        }
    }
    quoted.push('"');
    quoted
}

/// True if the character is printable, as `strconv.IsPrint` has it for the usual scripts: no control characters, no
/// spaces but U+0020, no format characters.
pub(crate) fn is_printable(c: char) -> bool {
    !c.is_control()
        && (c == ' ' || !c.is_whitespace())
        && !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{fff9}'..='\u{ffff}')
}

/// The strings as `%v` prints a `[]string`.
pub(crate) fn spaced(texts: &[String]) -> String {
    format!("[{}]", texts.join(" "))
}

/// The value as `json.Marshal` prints it: characters that browsers take for HTML are escaped.
pub(crate) fn json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The fields of the object in the order of Go's struct, as JSON.
pub(crate) fn ordered(object: &Value, keys: &[&str]) -> String {
    let fields = keys.iter().filter_map(|key| Some(format!("\"{key}\":{}", json(object.get(*key)?))));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}
