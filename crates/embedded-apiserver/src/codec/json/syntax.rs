//! The errors of Go's JSON scanner.

use crate::codec::text::quote;

/// Objects and arrays are nested no deeper, so that recursion over a body is bounded. Go's limit is 10,000.
pub(crate) const MAX_DEPTH: usize = 500;

/// The error of the first byte that is wrong, or of the end; `None` if the text is well formed.
///
/// Cost: a pass byte by byte; only for texts that the decoder has refused.
pub(crate) fn error(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, position: 0, stack: Vec::new() };
    scanner.document().err()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Object,
    Array,
}

struct Scanner<'a> {
    text: &'a [u8],
    position: usize,
    stack: Vec<Inside>,
}

const END: &str = "unexpected end of JSON input";

impl Scanner<'_> {
    fn document(&mut self) -> Result<(), String> {
        let mut after_value = self.begin_value(false)?;
        while let Some(inside) = self.stack.last().copied() {
            if after_value {
                let (context, close) = match inside {
                    Inside::Object => ("after object key:value pair", b'}'),
                    Inside::Array => ("after array element", b']'),
                };
                match self.next_significant()? {
                    b',' if inside == Inside::Object => {
                        self.key(false)?;
                        after_value = self.begin_value(false)?;
                    }
                    b',' => after_value = self.begin_value(false)?,
                    byte if byte == close => drop(self.stack.pop()),
                    byte => return Err(invalid(byte, context)),
                }
            } else {
                // an object or array has just begun
                after_value = match inside {
                    Inside::Object => !self.key(true)? || self.begin_value(false)?,
                    Inside::Array => self.begin_value(true)?,
                };
            }
        }
        match self.text.iter().skip(self.position).find(|byte| !is_space(**byte)) {
            Some(&byte) => Err(invalid(byte, "after top-level value")),
            None => Ok(()),
        }
    }

    /// Reads a value up to its end, or up to its opening bracket; returns whether it is complete.
    fn begin_value(&mut self, may_end: bool) -> Result<bool, String> {
        match self.next_significant()? {
            b'{' => self.push(Inside::Object, b'{').map(|()| false),
            b'[' => self.push(Inside::Array, b'[').map(|()| false),
            b']' if may_end => {
                self.stack.pop();
                Ok(true)
            }
            b'"' => self.string().map(|()| true),
            b't' => self.literal("true").map(|()| true),
            b'f' => self.literal("false").map(|()| true),
            b'n' => self.literal("null").map(|()| true),
            byte @ (b'-' | b'0'..=b'9') => self.number(byte).map(|()| true),
            byte => Err(invalid(byte, "looking for beginning of value")),
        }
    }

    /// Reads a key and its colon; returns false at the end of an empty object, which is then closed.
    fn key(&mut self, may_end: bool) -> Result<bool, String> {
        match self.next_significant()? {
            b'"' => self.string()?,
            b'}' if may_end => {
                self.stack.pop();
                return Ok(false);
            }
            byte => return Err(invalid(byte, "looking for beginning of object key string")),
        }
        match self.next_significant()? {
            b':' => Ok(true),
            byte => Err(invalid(byte, "after object key")),
        }
    }

    fn push(&mut self, inside: Inside, byte: u8) -> Result<(), String> {
        self.stack.push(inside);
        if self.stack.len() > MAX_DEPTH { Err(invalid(byte, "exceeded max depth")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<(), String> {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => match self.next()? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let byte = self.next()?;
                            if !byte.is_ascii_hexdigit() {
                                return Err(invalid(byte, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    byte => return Err(invalid(byte, "in string escape code")),
                },
                byte if byte < 0x20 => return Err(invalid(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes().skip(1) {
            let byte = self.next()?;
            if byte != expected {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(invalid(byte, &context));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Result<(), String> {
        let mut leading = first;
        if leading == b'-' {
            leading = self.next()?;
            if !leading.is_ascii_digit() {
                return Err(invalid(leading, "in numeric literal"));
            }
        }
        if leading != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.position += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.position += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.position += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn digit(&mut self, context: &str) -> Result<(), String> {
        let byte = self.next()?;
        if byte.is_ascii_digit() { Ok(()) } else { Err(invalid(byte, context)) }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    /// The next byte; Go reads one space after the end, which some states refuse.
    fn next(&mut self) -> Result<u8, String> {
        if self.position > self.text.len() {
            return Err(END.to_owned());
        }
        let byte = self.peek().unwrap_or(b' ');
        self.position += 1;
        Ok(byte)
    }

    fn next_significant(&mut self) -> Result<u8, String> {
        loop {
            let byte = self.next()?;
            if !is_space(byte) {
                return Ok(byte);
            }
        }
    }
}

pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn invalid(byte: u8, context: &str) -> String {
    let shown = match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let quoted = quote(&char::from(byte).to_string());
            let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
            format!("'{inner}'")
        }
    };
    format!("invalid character {shown} {context}")
}
