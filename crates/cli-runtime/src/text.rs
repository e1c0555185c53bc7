//! Texts with values of objects, for tables and terminals.

use std::borrow::Cow;

/// True for characters that a terminal obeys instead of showing them: control characters (CVE-2021-25743 of kubectl), and
/// those that change the direction of the text after them (CVE-2021-42574).
pub fn is_control(character: char) -> bool {
    let directs = matches!(character, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || directs
}

/// The text with [control characters](is_control) as escapes, except `kept` ones. A terminal would obey those that objects
/// contain, and a line break would look like another row of a table.
pub fn escape_controls<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_escaped = |character: char| is_control(character) && !kept.contains(&character);
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
    assert_eq!(escape_controls("\u{202e}gpj\u{2066}\u{200f}", &[]), "\\u{202e}gpj\\u{2066}\\u{200f}");
    assert_eq!(one_line("waits: a\nshop/web: ok"), "waits: a\\nshop/web: ok");
    assert!(matches!(escape_controls("Zähler שלום\n", &['\n']), Cow::Borrowed(_)));
}
