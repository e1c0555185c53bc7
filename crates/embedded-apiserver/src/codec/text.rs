//! JSON strings as Go's encoder writes them: `<`, `>`, `&`, U+2028 and U+2029 are escaped too.

use std::io::Write as _;

pub(super) use crate::go_quote::quote;

/// Writes a string with its quotes.
pub(super) fn write_str(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut plain = 0;
    for (at, special) in text.char_indices().filter(|(_, c)| is_special(*c)) {
        out.extend_from_slice(text.get(plain..at).unwrap_or_default().as_bytes());
        plain = at + special.len_utf8();
        match special {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            other => _ = write!(out, "\\u{:04x}", u32::from(other)),
        }
    }
    out.extend_from_slice(text.get(plain..).unwrap_or_default().as_bytes());
    out.push(b'"');
}

fn is_special(c: char) -> bool {
    matches!(c, '\0'..' ' | '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// Copies JSON text, with the characters escaped that Go's encoder escapes in strings.
pub(super) fn write_json(out: &mut Vec<u8>, json: &[u8]) {
    for c in String::from_utf8_lossy(json).chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            plain => out.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
