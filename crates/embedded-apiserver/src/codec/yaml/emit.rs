//! Trees to YAML in the form of go-yaml v2: blocks of two spaces, lists not indented below their key, keys in natural order,
//! lines folded after 80 characters.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::scalar::{Style, is_break, is_printable, style};

/// Writes a tree as a YAML document.
pub(crate) fn encode(tree: &Value) -> String {
    let mut emitter = Emitter { out: String::new(), column: 0, after_space: true, in_indent: true };
    emitter.value(tree, None, false);
    emitter.out.push('\n');
    emitter.out
}

const STEP: usize = 2;
const WIDTH: usize = 80;
/// Longer keys are written with `?`.
const MAX_SIMPLE_KEY: usize = 128;
/// Trees are never as deep; deeper parts are cut off.
const MAX_DEPTH: usize = 1000;

struct Emitter {
    out: String,
    column: usize,
    /// True if no space is needed before the next token.
    after_space: bool,
    /// True if the line has only spaces and indicators so far.
    in_indent: bool,
}

impl Emitter {
    /// Writes a value below something that is indented by `indent`; `None` is the document.
    fn value(&mut self, value: &Value, indent: Option<usize>, in_mapping: bool) {
        let inner = indent.map_or(0, |indent| indent + STEP);
        match value {
            Value::Object(map) if map.is_empty() || inner > MAX_DEPTH * STEP => self.token("{}"),
            Value::Object(map) => self.mapping(map, inner),
            Value::Array(items) if items.is_empty() || inner > MAX_DEPTH * STEP => self.token("[]"),
            Value::Array(items) => {
                // below a key, unless the key is so long that it has its own line
                let level = if in_mapping && !self.in_indent { indent.unwrap_or(0) } else { inner };
                for item in items {
                    self.line(level);
                    self.indicator('-');
                    self.value(item, Some(level), false);
                }
            }
            Value::String(text) => self.string(text, indent.map_or(STEP, |indent| indent + STEP), false),
            Value::Null => self.token("null"),
            other => self.token(&other.to_string()),
        }
    }

    fn mapping(&mut self, map: &Map<String, Value>, indent: usize) {
        let mut members: Vec<_> = map.iter().collect();
        members.sort_by(|(a, _), (b, _)| natural(a, b));
        for (key, value) in members {
            self.line(indent);
            if key.len() <= MAX_SIMPLE_KEY && !key.chars().any(is_break) {
                self.string(key, indent, true);
                self.put(':');
                (self.after_space, self.in_indent) = (false, false);
            } else {
                self.indicator('?');
                self.string(key, indent + STEP, false);
                self.line(indent);
                self.indicator(':');
            }
            self.value(value, Some(indent), true);
        }
    }

    /// Begins a line with this indentation, or fills up the one that has begun.
    fn line(&mut self, indent: usize) {
        if !self.in_indent || self.column > indent || (self.column == indent && !self.after_space) {
            self.new_line();
        }
        while self.column < indent {
            self.put(' ');
        }
        (self.after_space, self.in_indent) = (true, true);
    }

    fn indicator(&mut self, indicator: char) {
        if !self.after_space {
            self.put(' ');
        }
        self.put(indicator);
        self.after_space = false;
    }

    fn token(&mut self, text: &str) {
        if !self.after_space {
            self.put(' ');
        }
        text.chars().for_each(|letter| self.put(letter));
        (self.after_space, self.in_indent) = (false, false);
    }

    fn string(&mut self, text: &str, indent: usize, is_key: bool) {
        if !self.after_space {
            self.put(' ');
        }
        match style(text, is_key) {
            Style::Plain => self.words(text, indent, !is_key),
            Style::SingleQuoted => {
                self.put('\'');
                self.words(&text.replace('\'', "''"), indent, !is_key);
                self.put('\'');
            }
            Style::DoubleQuoted => self.double_quoted(text, indent, !is_key),
            Style::Literal => return self.literal(text, indent),
        }
        (self.after_space, self.in_indent) = (false, false);
    }

    /// Writes text that needs no escapes, folded at spaces.
    fn words(&mut self, text: &str, indent: usize, folds: bool) {
        let mut after_space = false;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let single = !after_space && letters.peek().is_some_and(|next| *next != ' ');
            if letter == ' ' && folds && single && self.column > WIDTH {
                self.in_indent = false;
                self.line(indent);
            } else {
                self.put(letter);
            }
            after_space = letter == ' ';
        }
    }

    fn double_quoted(&mut self, text: &str, indent: usize, folds: bool) {
        self.put('"');
        let mut after_space = false;
        let mut letters = text.chars().peekable();
        let mut first = true;
        while let Some(letter) = letters.next() {
            let inside = !first && letters.peek().is_some();
            first = false;
            if !is_printable(letter) || is_break(letter) || matches!(letter, '"' | '\\') {
                self.escape(letter);
                after_space = false;
                continue;
            }
            if letter == ' ' && folds && !after_space && self.column > WIDTH && inside {
                self.in_indent = false;
                self.line(indent);
                if letters.peek() == Some(&' ') {
                    self.put('\\');
                }
            } else {
                self.put(letter);
            }
            after_space = letter == ' ';
        }
        self.put('"');
    }

    fn escape(&mut self, letter: char) {
        let code = u32::from(letter);
        let text = match letter {
            '\0' => "\\0".to_owned(),
            '\u{7}' => "\\a".to_owned(),
            '\u{8}' => "\\b".to_owned(),
            '\t' => "\\t".to_owned(),
            '\n' => "\\n".to_owned(),
            '\u{b}' => "\\v".to_owned(),
            '\u{c}' => "\\f".to_owned(),
            '\r' => "\\r".to_owned(),
            '\u{1b}' => "\\e".to_owned(),
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            '\u{85}' => "\\N".to_owned(),
            '\u{2028}' => "\\L".to_owned(),
            '\u{2029}' => "\\P".to_owned(),
            _ if code <= 0xff => format!("\\x{code:02X}"),
            _ if code <= 0xffff => format!("\\u{code:04X}"),
            _ => format!("\\U{code:08X}"),
        };
        text.chars().for_each(|letter| self.put(letter));
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put('|');
        if text.starts_with(|letter| letter == ' ' || is_break(letter)) {
            self.put('2');
        }
        let mut from_end = text.chars().rev();
        match (from_end.next().map(is_break), from_end.next().map(is_break)) {
            (Some(false), _) => self.put('-'),
            (Some(true), None | Some(true)) => self.put('+'),
            _ => {}
        }
        self.new_line();
        (self.after_space, self.in_indent) = (true, true);
        let mut at_start = true;
        for letter in text.chars() {
            if is_break(letter) {
                if letter == '\n' {
                    self.new_line();
                } else {
                    self.out.push(letter);
                    self.column = 0;
                }
                self.in_indent = true;
                at_start = true;
            } else {
                if at_start {
                    self.line(indent);
                }
                self.put(letter);
                self.in_indent = false;
                at_start = false;
            }
        }
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn put(&mut self, letter: char) {
        self.out.push(letter);
        self.column += 1;
    }
}

/// The order of keys: numbers inside them by value, letters after everything else.
fn natural(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(x, y)| x != y) else { return a.len().cmp(&b.len()) };
    let (Some(&x), Some(&y)) = (a.get(at), b.get(at)) else { return Ordering::Equal };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // a zero within a number is no leading zero
    let within = (x == '0' || y == '0')
        && a.iter().take(at).rev().take_while(|letter| letter.is_ascii_digit()).any(|digit| *digit != '0');
    let number = |letters: &[char]| {
        let digits = letters.iter().skip(at).map_while(|letter| letter.to_digit(10));
        let start = (i64::from(within), 0_usize);
        digits.fold(start, |(value, length), digit| {
            (value.wrapping_mul(10).wrapping_add(i64::from(digit)), length + 1)
        })
    };
    number(&a).cmp(&number(&b)).then(x.cmp(&y))
}
