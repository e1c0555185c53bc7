//! YAML to JSON.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::codec::error::DecodeError;
use crate::codec::json::Problem;

/// Converts the first document of a YAML body to JSON. Keys that occur twice are problems, and the last one counts.
///
/// A body that begins with `{` is taken for JSON as it is, because clients send JSON as YAML.
///
/// Cost: linear; nesting and aliases are limited by the parser.
///
/// # Errors
/// The body is no YAML.
pub(crate) fn to_json(body: &[u8]) -> Result<(Vec<u8>, Vec<Problem>), DecodeError> {
    let begin = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if begin == Some(&b'{') && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() {
        return Ok((body.to_vec(), Vec::new()));
    }
    let mut loader = Loader { duplicates: 0, stop_at: None };
    let tree = loader.load(body).map_err(|error| DecodeError(describe(&error)))?;
    let mut problems = Vec::new();
    if loader.duplicates > 0 {
        problems.push(Problem::Other(duplicates(body, loader.duplicates)));
    }
    Ok((tree.to_string().into_bytes(), problems))
}

/// More duplicates are not described: finding the line of each takes a pass.
const MAX_DUPLICATES: usize = 10;

/// The text of go-yaml for keys that occur twice.
fn duplicates(body: &[u8], count: usize) -> String {
    let mut text = "yaml: unmarshal errors:".to_owned();
    for number in 1..=count.min(MAX_DUPLICATES) {
        let mut loader = Loader { duplicates: 0, stop_at: Some(number) };
        let Err(error) = loader.load(body) else { break };
        let line = error.location().map_or(0, |location| location.line());
        let message = error.to_string();
        let key = message.split('\u{0}').nth(1).unwrap_or_default();
        let key = crate::codec::text::quote(key);
        text.extend(["\n  line ", &line.to_string(), ": key ", &key, " already set in map"]);
    }
    text
}

fn describe(error: &serde_yaml::Error) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    match error.location() {
        Some(location) => format!("yaml: line {}: {message}", location.line()),
        None => format!("yaml: {message}"),
    }
}

/// Builds trees and counts keys that occur twice.
struct Loader {
    duplicates: usize,
    /// The duplicate at whose value to stop with an error, to learn its line.
    stop_at: Option<usize>,
}

impl Loader {
    fn load(&mut self, body: &[u8]) -> Result<Value, serde_yaml::Error> {
        match serde_yaml::Deserializer::from_slice(body).next() {
            Some(document) => self.deserialize(document),
            None => Ok(Value::Null),
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Loader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Loader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can express")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(&mut *self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<Key>()? {
            if map.contains_key(&key.0) {
                self.duplicates += 1;
                if self.stop_at == Some(self.duplicates) {
                    members.next_value_seed(Stop(&key.0))?;
                }
            }
            let value = members.next_value_seed(&mut *self)?;
            map.insert(key.0, value);
        }
        Ok(Value::Object(map))
    }
}

/// A key as text: JSON has no others.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            key @ (Value::Number(_) | Value::Bool(_)) => Ok(Self(key.to_string())),
            _ => Err(D::Error::custom("a key is neither text nor a number nor a boolean")),
        }
    }
}

/// Fails at a value, with the key between NUL characters.
struct Stop<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Stop<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Stop<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no second key \u{0}{}\u{0}", self.0)
    }
}
