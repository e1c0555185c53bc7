//! Text as Go writes it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes of a stranger's text that a response repeats. Escaped, they are up to ten times as many.
const MAX_REPEATED: usize = 256;

/// The beginning of a text that a stranger has sent, with `...` if it is longer.
pub(crate) fn beginning(text: &str) -> Cow<'_, str> {
    match text.get(..text.floor_char_boundary(MAX_REPEATED)) {
        Some(start) if start.len() < text.len() => Cow::Owned(format!("{start}...")),
        _ => Cow::Borrowed(text),
    }
}

/// Escapes JSON as Go's encoder does, which makes it safe inside HTML.
pub(crate) fn escape_json(json: &str) -> String {
    let escapes = [
        ('&', r"\u0026"),
        ('<', r"\u003c"),
        ('>', r"\u003e"),
        ('\u{2028}', r"\u2028"),
        ('\u{2029}', r"\u2029"),
    ];
    replace_all(json, &escapes)
}

/// Escapes text as upstream does before it goes into a message.
pub(crate) fn escape_html(text: &str) -> String {
    replace_all(text, &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;")])
}

fn replace_all(text: &str, replacements: &[(char, &str)]) -> String {
    let mut replaced = String::with_capacity(text.len());
    for c in text.chars() {
        match replacements.iter().find(|(from, _)| *from == c) {
            Some((_, to)) => replaced.push_str(to),
            None => replaced.push(c),
        }
    }
    replaced
}

/// Writes a number with the fewest digits (`strconv.FormatFloat` with `'g'` and -1).
pub(crate) fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    match scientific.split_once('e').and_then(|(digits, power)| Some((digits, power.parse::<i32>().ok()?))) {
        Some((digits, power)) if !(-4..6).contains(&power) => {
            format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
        }
        _ => number.to_string(),
    }
}

/// Writes a string in double quotes with Go's escapes (`%q`).
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        // Writing into a String cannot fail.
        let _ = match c {
            '"' | '\\' => write!(quoted, "\\{c}"),
            '\x07' => write!(quoted, "\\a"),
            '\x08' => write!(quoted, "\\b"),
            '\x0c' => write!(quoted, "\\f"),
            '\n' => write!(quoted, "\\n"),
            '\r' => write!(quoted, "\\r"),
            '\t' => write!(quoted, "\\t"),
            '\x0b' => write!(quoted, "\\v"),
            c if c < ' ' || c == '\x7f' => write!(quoted, "\\x{:02x}", u32::from(c)),
            // Unprintable characters; the same set as Go's, except for combining marks.
            c if c != '\'' && c.escape_debug().len() > 1 => match u32::from(c) {
                code @ ..=0xffff => write!(quoted, "\\u{code:04x}"),
                code => write!(quoted, "\\U{code:08x}"),
            },
            c => write!(quoted, "{c}"),
        };
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_strings_equal_those_of_go() {
        assert_eq!(quote("a'b\\\"\u{7}\t\u{1b}\u{7f}"), r#""a'b\\\"\a\t\x1b\x7f""#);
        assert_eq!(quote("ü日\u{80}\u{2028}\u{e0001}"), r#""ü日\u0080\u2028\U000e0001""#);
    }
}
