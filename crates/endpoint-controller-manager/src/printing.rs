//! Results on stdout, in the forms that kubectl has.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

/// A document of YAML.
pub(crate) fn yaml(value: &impl Serialize) -> String {
    // Neither a tree nor memory can fail.
    serde_yaml::to_string(value).unwrap_or_default()
}

/// A document of JSON. kubectl indents by four.
pub(crate) fn json(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let four = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, four);
    // Neither a tree nor memory can fail.
    let _ = value.serialize(&mut serializer);
    String::from_utf8(text).unwrap_or_default() + "\n"
}

/// A value on one line.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && !text.contains(char::is_control) => text.clone(),
        other => other.to_string(),
    }
}

/// Columns three spaces apart, as kubectl has them.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a String does not fail.
            let _ = write!(line, "{cell:width$}   ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
