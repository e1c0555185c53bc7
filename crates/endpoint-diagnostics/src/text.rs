//! Texts with values of objects, for tables and terminals.

use std::borrow::Cow;

/// The text with control characters as escapes, except `kept` ones. A terminal would obey those that objects contain
/// (CVE-2021-25743 of kubectl), and a line break would look like another row of a table.
pub fn escape_controls<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_escaped = |character: char| character.is_control() && !kept.contains(&character);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|character| {
        if is_escaped(character) { character.escape_default().to_string() } else { character.to_string() }
    });
    Cow::Owned(shown.collect())
}

/// A sentence of one line.
pub fn one_line(text: impl Into<String>) -> String {
    escape_controls(&text.into(), &[]).into_owned()
}

#[test]
fn control_characters_are_escaped() {
    assert_eq!(escape_controls("a\u{1b}[2J\tb\r\n\u{9b}0m", &['\n']), "a\\u{1b}[2J\\tb\\r\n\\u{9b}0m");
    assert_eq!(one_line("waits: a\nshop/web: ok"), "waits: a\\nshop/web: ok");
    assert!(matches!(escape_controls("Zähler\n", &['\n']), Cow::Borrowed(_)));
}
