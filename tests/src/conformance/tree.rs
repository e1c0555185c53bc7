//! A document with the order of its fields, the spelling of its numbers and the escapes of its strings: two answers are
//! equal only if their bytes are, apart from white space.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Deeper than any object of the API.
const DEPTH: usize = 200;

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
        serde_json::from_str(text).and_then(|raw| Self::of(raw, 0)).map_err(|error| error.to_string())
    }

    fn of(raw: &RawValue, depth: usize) -> serde_json::Result<Self> {
        if depth > DEPTH {
            return Err(serde_json::Error::custom("too deep"));
        }
        let text = raw.get();
        Ok(match text.as_bytes()[0] {
            b'{' => {
                let fields = serde_json::Deserializer::from_str(text).deserialize_map(Fields)?;
                let fields = fields.into_iter().map(|(key, value)| {
                    Ok::<_, serde_json::Error>((unquoted(key.get()), Self::of(value, depth + 1)?))
                });
                Self::Object(fields.collect::<Result<_, _>>()?)
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(text)?;
                Self::List(items.into_iter().map(|item| Self::of(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            b'"' => Self::Text(unquoted(text)),
            b'n' => Self::Null,
            b't' | b'f' => Self::Bool(text == "true"),
            _ => Self::Number(text.to_owned()),
        })
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
        let join = |parts: Vec<String>| parts.join(",");
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) => text.clone(),
            Self::Text(text) => format!("\"{text}\""),
            Self::List(items) => format!("[{}]", join(items.iter().map(Self::print).collect())),
            Self::Object(fields) => {
                let field = |(key, value): &(String, Self)| format!("\"{key}\":{}", value.print());
                format!("{{{}}}", join(fields.iter().map(field).collect()))
            }
        }
    }
}

fn unquoted(text: &str) -> String {
    text[1..text.len() - 1].to_owned()
}

/// Reads the keys and values of an object in the order of the wire.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_what_was_read() {
        let text = r#"{"b\u003c":[1,-2.50e+3,"a\"\u003c"],"a":{},"a":[],"c":[null,true,false,""]}"#;
        assert_eq!(Tree::parse(text).unwrap().print(), text);
    }

    #[test]
    fn bad_json_is_an_error() {
        for text in ["", "{", "[1", "\"", "\"\\", "{\"a\"}", "[1,]", "1 2", "nul"] {
            assert!(Tree::parse(text).is_err(), "{text}");
        }
        assert!(Tree::parse(&("[".repeat(1_000) + &"]".repeat(1_000))).is_err());
    }
}
