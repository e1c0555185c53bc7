//! Results on stdout, in the forms that kubectl has, and lines on stderr.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, Write as _};

use crate::style;
use crate::text::{escape_controls, is_control};
use serde::Serialize;
use serde_json::Value;

/// Prints a line to stderr.
pub fn note(line: &str) {
    // If stderr is closed, there is no place to report that.
    let _ = writeln!(std::io::stderr(), "{}", escape_controls(line, &['\n']));
}

/// Prints a result to stdout, in colours if that is a terminal. Returns false if its reader has gone away (`| head`).
///
/// # Errors
/// The reason for which stdout cannot be written.
#[expect(clippy::disallowed_methods, reason = "after the escaping")]
pub fn print(text: &str) -> io::Result<bool> {
    let escaped = escape_controls(text, &['\n']);
    let shown = style::rendered(&escaped, style::in_colours());
    let mut stdout = io::stdout();
    match stdout.write_all(shown.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

/// A document of YAML.
pub fn yaml(value: &impl Serialize) -> String {
    // Neither a tree nor memory can fail.
    let text = serde_yaml::to_string(value).unwrap_or_default();
    // JSON is YAML too, and has an escape for each character.
    if text.contains(is_escaped) { json(value) } else { text }
}

/// A document of JSON. kubectl indents by four.
pub fn json(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let four = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, four);
    // Neither a tree nor memory can fail.
    let _ = value.serialize(&mut serializer);
    escaped(String::from_utf8(text).unwrap_or_default() + "\n")
}

/// The same document of JSON, in which texts have no characters that [`print`] would replace.
fn escaped(json: String) -> String {
    if !json.contains(is_escaped) {
        return json;
    }
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if is_escaped(character) {
            // Writing to a String does not fail. All of them have four digits.
            let _ = write!(text, "\\u{:04x}", u32::from(character));
        } else {
            text.push(character);
        }
    }
    text
}

fn is_escaped(character: char) -> bool {
    character != '\n' && is_control(character)
}

/// A value on one line.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && !text.contains(char::is_control) => text.clone(),
        other => other.to_string(),
    }
}

/// Columns three spaces apart, as kubectl has them. A cell is a line without control characters.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let escaped = rows.iter().map(|row| row.iter().map(|cell| escape_controls(cell, &[])).collect());
    let rows: Vec<Vec<Cow<'_, str>>> = escaped.collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| style::width(cell)).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - style::width(cell) + 3));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_keep_their_content_and_have_nothing_that_a_terminal_obeys() {
        for text in ["a\u{1b}[2J\u{7f}\u{9b}", "\u{202e}gpj.\u{2069}", "a\tb\nc", "plain"] {
            let value = json!({"a": [text], text: 1});
            for document in [json(&value), yaml(&value)] {
                assert_eq!(serde_yaml::from_str::<Value>(&document).unwrap(), value, "{document}");
                assert_eq!(escape_controls(&document, &['\n']), document);
            }
            assert_eq!(serde_json::from_str::<Value>(&json(&value)).unwrap(), value);
        }
        assert_eq!(yaml(&json!({"a": "x"})), "a: x\n");
    }

    #[test]
    fn a_row_is_a_line_whatever_its_cells_contain() {
        let rows = [["a\nb", "c"], ["\u{1b}x", "d"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows), "a\\nb      c\n\\u{1b}x   d\n");
    }
}
