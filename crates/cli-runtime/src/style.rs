//! Colours of results on a terminal.
//!
//! A toned text has marks around it, which [`print`](crate::printing::print) turns into colours or leaves out. The marks are
//! noncharacters of Unicode, which texts do not exchange: an object that contains them can choose a colour, and nothing else.

use std::borrow::Cow;
use std::io::IsTerminal as _;

/// The tone of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be: green.
    Good,
    /// Incomplete, late or unknown: yellow.
    Doubtful,
    /// Wrong, or nothing where there should be something: red.
    Bad,
    /// A heading: bold.
    Strong,
}

const END: char = '\u{fddf}';

impl Tone {
    const ALL: [Self; 4] = [Self::Good, Self::Doubtful, Self::Bad, Self::Strong];

    fn mark(self) -> char {
        match self {
            Self::Good => '\u{fdd0}',
            Self::Doubtful => '\u{fdd1}',
            Self::Bad => '\u{fdd2}',
            Self::Strong => '\u{fdd3}',
        }
    }

    /// The parameter of "Select Graphic Rendition".
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Doubtful => "33",
            Self::Bad => "31",
            Self::Strong => "1",
        }
    }

    /// The text in this tone.
    pub fn paint(self, text: &str) -> String {
        format!("{}{text}{END}", self.mark())
    }
}

fn is_mark(character: char) -> bool {
    character == END || Tone::ALL.iter().any(|tone| tone.mark() == character)
}

/// The number of characters that are shown.
pub fn width(text: &str) -> usize {
    text.chars().filter(|character| !is_mark(*character)).count()
}

/// The text for a terminal: in colours, or without its marks.
pub fn rendered(text: &str, in_colours: bool) -> Cow<'_, str> {
    if !text.contains(is_mark) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if !is_mark(character) {
            shown.push(character);
        } else if in_colours {
            let code = Tone::ALL.iter().find(|tone| tone.mark() == character).map_or("0", |tone| tone.code());
            shown.extend(["\u{1b}[", code, "m"]);
        }
    }
    Cow::Owned(shown)
}

/// True if stdout is a terminal that shows colours, and `NO_COLOR` (<https://no-color.org>) is empty or not set.
pub fn in_colours() -> bool {
    let is_set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    is_terminal() && is_set("NO_COLOR").is_none() && is_set("TERM").is_some_and(|terminal| terminal != "dumb")
}

/// True if stdout is a terminal.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_colours_or_nothing() {
        let text = format!("{} and {}", Tone::Bad.paint("none"), Tone::Good.paint("3/3"));
        assert_eq!(rendered(&text, false), "none and 3/3");
        assert_eq!(rendered(&text, true), "\u{1b}[31mnone\u{1b}[0m and \u{1b}[32m3/3\u{1b}[0m");
        assert_eq!(width(&text), 12);
        assert!(matches!(rendered("plain", true), Cow::Borrowed("plain")));
    }
}
