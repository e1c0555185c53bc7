//! Tokens of JSON.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::codec::error::DecodeError;

/// Objects and arrays are nested no deeper, so that recursion over a body is bounded. Go's limit is 10,000.
pub(crate) const MAX_DEPTH: usize = 500;

/// A text that is not well formed.
#[derive(Debug)]
pub(super) struct Malformed;

impl From<Malformed> for DecodeError {
    fn from(_: Malformed) -> Self {
        Self("malformed JSON".to_owned())
    }
}

/// Reads tokens from the start of a text.
pub(super) struct Reader<'a> {
    text: &'a [u8],
    position: usize,
    depth: usize,
}

/// The beginning of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Null,
    True,
    False,
    Number,
    String,
    Array,
    Object,
}

impl Token {
    /// A kind of value in the words of Go's errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::True | Self::False => "bool",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, position: 0, depth: 0 }
    }

    /// The kind of the next value. Nothing but space is consumed.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Token, Malformed> {
        Ok(match self.significant().ok_or(Malformed)? {
            b'{' => Token::Object,
            b'[' => Token::Array,
            b'"' => Token::String,
            b't' => Token::True,
            b'f' => Token::False,
            b'n' => Token::Null,
            b'-' | b'0'..=b'9' => Token::Number,
            _ => return Err(Malformed),
        })
    }

    /// Nothing follows but space.
    pub(super) fn end(&mut self) -> Result<(), Malformed> {
        if self.significant().is_none() { Ok(()) } else { Err(Malformed) }
    }

    /// Consumes `{` or `[`. Each needs its [`close`](Self::close).
    pub(super) fn open(&mut self) -> Result<(), Malformed> {
        self.position += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Malformed) } else { Ok(()) }
    }

    /// True if another member or item follows; consumes the comma before it, or the closing bracket.
    pub(super) fn more(&mut self, close: u8, first: bool) -> Result<bool, Malformed> {
        let byte = self.significant().ok_or(Malformed)?;
        if byte == close {
            self.position += 1;
            self.depth -= 1;
            return Ok(false);
        }
        if !first {
            if byte != b',' {
                return Err(Malformed);
            }
            self.position += 1;
        }
        Ok(true)
    }

    /// A key and its colon.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Cow<'a, str>, Malformed> {
        if self.significant() != Some(b'"') {
            return Err(Malformed);
        }
        let key = self.string()?;
        if self.significant() != Some(b':') {
            return Err(Malformed);
        }
        self.position += 1;
        Ok(key)
    }

    /// `null`, `true` or `false`.
    pub(super) fn literal(&mut self, word: &str) -> Result<(), Malformed> {
        let rest = self.text.get(self.position..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(Malformed);
        }
        self.position += word.len();
        Ok(())
    }

    /// A number as it is written.
    pub(super) fn number(&mut self) -> Result<&'a str, Malformed> {
        let start = self.position;
        self.take(b"-");
        if !self.take(b"0") && self.digits() == 0 {
            return Err(Malformed);
        }
        if self.take(b".") && self.digits() == 0 {
            return Err(Malformed);
        }
        if self.take(b"eE") {
            self.take(b"+-");
            if self.digits() == 0 {
                return Err(Malformed);
            }
        }
        let bytes = self.text.get(start..self.position).unwrap_or_default();
        std::str::from_utf8(bytes).map_err(|_| Malformed)
    }

    fn take(&mut self, bytes: &[u8]) -> bool {
        let found = self.byte().is_some_and(|byte| bytes.contains(&byte));
        self.position += usize::from(found);
        found
    }

    fn digits(&mut self) -> usize {
        let start = self.position;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        self.position - start
    }

    /// A string. Bytes that are not UTF-8 and lone surrogates become U+FFFD, as in Go.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Malformed> {
        let start = self.position + 1;
        let rest = self.text.get(start..).ok_or(Malformed)?;
        let end =
            rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20).ok_or(Malformed)?;
        let (plain, after) = rest.split_at_checked(end).ok_or(Malformed)?;
        if after.first() == Some(&b'"') {
            self.position = start + end + 1;
            return Ok(match std::str::from_utf8(plain) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(lossy(plain)),
            });
        }
        self.escaped(start)
    }

    #[cold]
    fn escaped(&mut self, start: usize) -> Result<Cow<'a, str>, Malformed> {
        let mut text = Vec::new();
        self.position = start;
        loop {
            let byte = self.byte().ok_or(Malformed)?;
            self.position += 1;
            match byte {
                b'"' => break,
                b'\\' => self.escape(&mut text)?,
                0..0x20 => return Err(Malformed),
                _ => text.push(byte),
            }
        }
        Ok(Cow::Owned(match String::from_utf8(text) {
            Ok(text) => text,
            Err(error) => lossy(error.as_bytes()),
        }))
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), Malformed> {
        let byte = self.byte().ok_or(Malformed)?;
        self.position += 1;
        text.push(match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.unicode()?;
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(Malformed),
        });
        Ok(())
    }

    /// The character of `\u`, with the second half of a surrogate pair.
    fn unicode(&mut self) -> Result<char, Malformed> {
        let first = self.hex(self.position).ok_or(Malformed)?;
        self.position += 4;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        let follows = self.text.get(self.position..self.position + 2) == Some(b"\\u");
        let second = if follows { self.hex(self.position + 2) } else { None };
        if let (0xd800..0xdc00, Some(second @ 0xdc00..0xe000)) = (first, second) {
            self.position += 6;
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        digits.iter().try_fold(0, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
    }

    /// A value of any type. Of duplicate members the last one counts; numbers are int64 or float64.
    pub(super) fn untyped(&mut self) -> Result<Value, Malformed> {
        Ok(match self.peek()? {
            Token::Null => self.literal("null").map(|()| Value::Null)?,
            Token::True => self.literal("true").map(|()| Value::Bool(true))?,
            Token::False => self.literal("false").map(|()| Value::Bool(false))?,
            Token::Number => {
                let number = self.number()?;
                let integer = number.parse::<i64>().ok().map(Value::from);
                integer.or_else(|| number.parse::<f64>().ok().map(Value::from)).unwrap_or_default()
            }
            Token::String => Value::String(self.string()?.into_owned()),
            Token::Array => {
                self.open()?;
                let mut items = Vec::new();
                while self.more(b']', items.is_empty())? {
                    items.push(self.untyped()?);
                }
                Value::Array(items)
            }
            Token::Object => {
                self.open()?;
                let (mut map, mut first) = (Map::new(), true);
                while self.more(b'}', first)? {
                    first = false;
                    let key = self.key()?.into_owned();
                    map.insert(key, self.untyped()?);
                }
                Value::Object(map)
            }
        })
    }

    /// Consumes a value of any kind, and returns its text.
    pub(super) fn skip(&mut self) -> Result<&'a [u8], Malformed> {
        let token = self.peek()?;
        let start = self.position;
        match token {
            Token::Null => self.literal("null")?,
            Token::True => self.literal("true")?,
            Token::False => self.literal("false")?,
            Token::Number => drop(self.number()?),
            Token::String => drop(self.string()?),
            Token::Array => {
                self.open()?;
                let mut first = true;
                while self.more(b']', first)? {
                    self.skip()?;
                    first = false;
                }
            }
            Token::Object => {
                self.open()?;
                let mut first = true;
                while self.more(b'}', first)? {
                    self.key()?;
                    self.skip()?;
                    first = false;
                }
            }
        }
        Ok(self.text.get(start..self.position).unwrap_or_default())
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    #[inline]
    fn significant(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(byte);
            }
            self.position += 1;
        }
    }
}

/// As Go decodes text that is not UTF-8: each wrong byte becomes U+FFFD.
fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for _ in chunk.invalid() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}
