//! The styles that a string can have.

use super::resolve::is_no_string;

/// The style of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// The style in which go-yaml writes a string, as a value or as a key.
pub(super) fn style(text: &str, is_key: bool) -> Style {
    let facts = Facts::of(text);
    let wanted = if text.contains('\n') {
        if is_key { Style::DoubleQuoted } else { Style::Literal }
    } else if is_no_string(text) {
        Style::DoubleQuoted
    } else {
        Style::Plain
    };
    match wanted {
        Style::Plain if facts.plain => Style::Plain,
        Style::Plain if facts.single_quoted => Style::SingleQuoted,
        Style::Literal if facts.literal => Style::Literal,
        _ => Style::DoubleQuoted,
    }
}

/// True if a character begins a new line in YAML.
pub(super) fn is_break(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// True if a character needs no escape.
pub(super) fn is_printable(letter: char) -> bool {
    matches!(letter, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// The styles that the content allows.
struct Facts {
    plain: bool,
    single_quoted: bool,
    literal: bool,
}

impl Facts {
    fn of(text: &str) -> Self {
        let (first, last) = (text.chars().next(), text.chars().next_back());
        let at_edge = |test: fn(char) -> bool| first.is_some_and(test) || last.is_some_and(test);
        let is_space = |letter: char| letter == ' ';
        let pairs = || text.chars().zip(text.chars().skip(1));
        let break_space = pairs().any(|(a, b)| is_break(a) && b == ' ');
        let space_break = pairs().any(|(a, b)| a == ' ' && is_break(b));
        let special = text.chars().any(|letter| !is_printable(letter));
        let breaks = text.chars().any(is_break);
        let escaped = space_break || special;
        Self {
            plain: !(at_edge(is_space) || breaks || break_space || escaped || has_indicators(text)),
            single_quoted: !(break_space || escaped || breaks),
            literal: !(escaped || last == Some(' ')),
        }
    }
}

/// True if characters would mean something else in a plain scalar.
fn has_indicators(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let blank = |letter: Option<char>| letter.is_none_or(|letter| matches!(letter, ' ' | '\t'));
    let mut letters = text.chars().peekable();
    let Some(first) = letters.next() else { return false };
    let at_start = match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
            true
        }
        '?' | ':' | '-' => blank(letters.peek().copied()),
        _ => false,
    };
    let mut before = first;
    let mut inside = false;
    while let Some(letter) = letters.next() {
        inside |= letter == ':' && blank(letters.peek().copied());
        inside |= letter == '#' && (matches!(before, ' ' | '\t') || is_break(before));
        before = letter;
    }
    at_start || inside
}
