//! A document with the order of its fields, the spelling of its numbers and the escapes of its strings: two answers are
//! equal only if their bytes are, apart from white space.

use std::fmt::Write as _;

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    /// As it is spelled.
    Number(String),
    /// Without the quotes; escapes are as on the wire.
    Text(String),
    List(Vec<Tree>),
    /// In the order of the wire; a key may come twice.
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// Parses JSON; the error says where.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { bytes: text.as_bytes(), at: 0 };
        let tree = parser.value(0)?;
        parser.space();
        if parser.at == text.len() { Ok(tree) } else { Err(parser.error("the end")) }
    }

    /// The first value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Compact JSON.
    pub(crate) fn print(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => write!(out, "{value}").unwrap(),
            Self::Number(text) => out.push_str(text),
            Self::Text(text) => {
                out.push('"');
                out.push_str(text);
                out.push('"');
            }
            Self::List(items) => {
                out.push('[');
                for (number, item) in items.iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (number, (key, value)) in fields.iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    write!(out, "\"{key}\":").unwrap();
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Deeper than any object of the API.
const DEPTH: usize = 200;

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn error(&self, expected: &str) -> String {
        format!("expected {expected} at byte {} of {}", self.at, self.bytes.len())
    }

    fn space(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> u8 {
        self.space();
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn take(&mut self, byte: u8) -> Result<(), String> {
        if self.peek() == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(self.error(&format!("{:?}", char::from(byte))))
        }
    }

    fn value(&mut self, depth: usize) -> Result<Tree, String> {
        if depth > DEPTH {
            return Err(self.error("less depth"));
        }
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.text().map(Tree::Text),
            b'-' | b'0'..=b'9' => {
                let start = self.at;
                let digit = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                while self.bytes.get(self.at).is_some_and(digit) {
                    self.at += 1;
                }
                Ok(Tree::Number(self.since(start)))
            }
            _ => {
                for (word, value) in
                    [("null", Tree::Null), ("true", Tree::Bool(true)), ("false", Tree::Bool(false))]
                {
                    if self.bytes[self.at..].starts_with(word.as_bytes()) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.error("a value"))
            }
        }
    }

    fn since(&self, start: usize) -> String {
        String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned()
    }

    fn text(&mut self) -> Result<String, String> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            match self.bytes.get(self.at) {
                None => return Err(self.error("the end of a string")),
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
        let text = self.since(start);
        self.at += 1;
        Ok(text)
    }

    fn list(&mut self, depth: usize) -> Result<Tree, String> {
        self.take(b'[')?;
        let mut items = Vec::new();
        if self.peek() == b']' {
            self.at += 1;
            return Ok(Tree::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.peek() != b',' {
                break;
            }
            self.at += 1;
        }
        self.take(b']')?;
        Ok(Tree::List(items))
    }

    fn object(&mut self, depth: usize) -> Result<Tree, String> {
        self.take(b'{')?;
        let mut fields = Vec::new();
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(Tree::Object(fields));
        }
        loop {
            self.space();
            let key = self.text()?;
            self.take(b':')?;
            fields.push((key, self.value(depth + 1)?));
            if self.peek() != b',' {
                break;
            }
            self.at += 1;
        }
        self.take(b'}')?;
        Ok(Tree::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_what_was_read() {
        let text = r#"{"b":[1,-2.50e+3,"a\"\u003c"],"a":{},"a":[],"c":[null,true,false,""]}"#;
        assert_eq!(Tree::parse(text).unwrap().print(), text);
    }

    #[test]
    fn bad_json_is_an_error() {
        for text in ["", "{", "[1", "\"", "\"\\", "{\"a\"}", "[1,]", "1 2", "nul"] {
            assert!(Tree::parse(text).is_err(), "{text}");
        }
    }
}
