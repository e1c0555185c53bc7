//! Strings as Go quotes them.

use std::fmt::Write as _;

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

#[cfg(test)]
mod tests;
