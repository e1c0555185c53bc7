//! YAML to JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess};
use serde::de::{IgnoredAny, Visitor};
use serde_json::{Map, Value};

use super::failure;
use super::resolve;
use super::utf16;
use crate::codec::error::DecodeError;
use crate::codec::json::{Problem, encode_untyped};
use crate::codec::text::quote;

/// Converts the first document of a YAML body to JSON. Keys that occur twice are problems, and the last one counts.
///
/// Scalars have the types of YAML 1.1, as in go-yaml v2: `yes` is a boolean, `0777` a number.
///
/// Cost: linear. The parser limits nesting to 128 levels. Values and texts are counted each time that an alias repeats them,
/// up to [`MAX_REPEATED`].
///
/// # Errors
/// The body is no YAML, or JSON cannot express it.
pub(crate) fn to_json(body: &[u8]) -> Result<(Vec<u8>, Vec<Problem>), DecodeError> {
    let body: Cow<'_, [u8]> = utf16::utf8(body)?;
    if nests_too_deep(&body) {
        return Err(DecodeError(failure::TOO_DEEP.to_owned()));
    }
    let mut loader = Loader::new(&body, None);
    let tree = loader.json().or_else(|| loader.yaml().transpose()).transpose();
    let tree = tree.map_err(|error| DecodeError(failure::describe(&error)))?.unwrap_or_default();
    let mut problems = Vec::new();
    if loader.duplicates > 0 {
        problems.push(Problem::Other(duplicates(&body, loader.duplicates)));
    }
    let mut text = Vec::with_capacity(body.len());
    encode_untyped(&tree, &mut text);
    Ok((text, problems))
}

/// Brackets that may be open at once. The parser allows fewer levels, but these include brackets in texts. Its cost, before
/// it refuses a body, grows with the square of their number.
const MAX_OPEN: usize = 1000;

/// True if more brackets are opened than closed, by [`MAX_OPEN`], at any byte. Those in texts count too.
fn nests_too_deep(body: &[u8]) -> bool {
    let mut open = 0_usize;
    body.iter().any(|byte| {
        match byte {
            b'{' | b'[' => open += 1,
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        open > MAX_OPEN
    })
}

/// Values and bytes of texts that aliases may add to those of a body, which has at most three a byte. The parser counts only
/// the aliases, of which it lets a body have a hundred times as many as values.
const MAX_REPEATED: usize = 3 << 20;

/// More duplicates are not described: finding the line of each takes a pass.
const MAX_DUPLICATES: usize = 10;

/// The text of go-yaml for keys that occur twice.
fn duplicates(body: &[u8], count: usize) -> String {
    let mut text = "yaml: unmarshal errors:".to_owned();
    for number in 1..=count.min(MAX_DUPLICATES) {
        let mut loader = Loader::new(body, Some(number));
        let Err(error) = loader.yaml() else { break };
        let line = error.location().map_or(0, |location| location.line());
        let message = error.to_string();
        let key = message.split('\u{0}').nth(1).unwrap_or_default();
        text.extend(["\n  line ", &line.to_string(), ": key ", key, " already set in map"]);
    }
    text
}

/// Builds trees and counts keys that occur twice.
struct Loader<'a> {
    body: &'a [u8],
    /// Values and bytes of texts so far.
    loaded: usize,
    duplicates: usize,
    /// The duplicate at whose value to stop with an error, to learn its line.
    stop_at: Option<usize>,
}

impl<'a> Loader<'a> {
    fn new(body: &'a [u8], stop_at: Option<usize>) -> Self {
        Self { body, loaded: 0, duplicates: 0, stop_at }
    }

    /// Counts a value or a text.
    fn count<E: serde::de::Error>(&mut self, size: usize) -> Result<(), E> {
        self.loaded += size;
        let most = 3 * self.body.len() + MAX_REPEATED;
        if self.loaded > most { Err(E::custom(failure::ALIASES)) } else { Ok(()) }
    }

    /// The tree of a body that is JSON, for which there is a faster parser. Clients send JSON as YAML.
    fn json(&mut self) -> Option<Result<Value, serde_yaml::Error>> {
        let begins = self.body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        if !begins || serde_json::from_slice::<IgnoredAny>(self.body).is_err() {
            return None;
        }
        self.deserialize(&mut serde_json::Deserializer::from_slice(self.body)).ok().map(Ok)
    }

    /// The tree of the first document, if there is one.
    fn yaml(&mut self) -> Result<Option<Value>, serde_yaml::Error> {
        (self.loaded, self.duplicates) = (0, 0);
        serde_yaml::Deserializer::from_slice(self.body)
            .next()
            .map(|document| self.deserialize(document))
            .transpose()
    }

    /// True if a text of the body has no quotes around it.
    fn is_plain(&self, text: &str) -> bool {
        let start = text.as_ptr().addr().checked_sub(self.body.as_ptr().addr());
        let before = start.and_then(|start| self.body.get(start.checked_sub(1)?));
        !matches!(before, Some(b'"' | b'\''))
    }
}

impl<'de> DeserializeSeed<'de> for &mut Loader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Loader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can express")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    /// An empty document.
    fn visit_none<E>(self) -> Result<Value, E> {
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

    #[expect(clippy::cast_precision_loss, reason = "go-yaml reads longer integers as floats")]
    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "go-yaml reads longer integers as floats")]
    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if value.is_finite() {
            return Ok(value.into());
        }
        let value = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        };
        Err(E::custom(format!("{}{value}", failure::UNSUPPORTED)))
    }

    /// A text that stands in the body as it is.
    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<Value, E> {
        self.count(value.len())?;
        Ok(if self.is_plain(value) { resolve::value(value) } else { value.into() })
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.count(value.len())?;
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
        while let Some(key) = members.next_key_seed(Key(self))? {
            let Name::Of { name, shown } = key else {
                let value = members.next_value_seed(&mut *self)?;
                merge(&mut map, value)?;
                continue;
            };
            self.count(name.len())?;
            if map.contains_key(&name) {
                self.duplicates += 1;
                if self.stop_at == Some(self.duplicates) {
                    members.next_value_seed(Stop(&shown))?;
                }
            }
            let value = members.next_value_seed(&mut *self)?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }

    /// A value with a tag that go-yaml does not know: scalars are texts.
    fn visit_enum<A: EnumAccess<'de>>(self, value: A) -> Result<Value, A::Error> {
        let (IgnoredAny, content) = value.variant()?;
        Ok(match content.newtype_variant_seed(self)? {
            scalar @ (Value::Number(_) | Value::Bool(_)) => Value::String(scalar.to_string()),
            other => other,
        })
    }
}

/// Adds the members of a mapping, or of each of a list, as the key `<<` asks for. The first of a list wins.
fn merge<E: serde::de::Error>(map: &mut Map<String, Value>, value: Value) -> Result<(), E> {
    match value {
        Value::Object(other) => map.extend(other),
        Value::Array(items) if items.iter().all(Value::is_object) => {
            for item in items.into_iter().rev() {
                merge(map, item)?;
            }
        }
        _ => return Err(E::custom(failure::MERGE)),
    }
    Ok(())
}

/// Reads a key as text, which is all that JSON has.
struct Key<'a, 'body>(&'a mut Loader<'body>);

/// A key of a mapping.
enum Name {
    /// The key `<<`.
    Merge,
    Of {
        name: String,
        /// As Go prints it.
        shown: String,
    },
}

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Key<'_, '_> {
    fn of<E: serde::de::Error>(key: Value) -> Result<Name, E> {
        match key {
            Value::String(name) => {
                let shown = quote(&name);
                Ok(Name::Of { name, shown })
            }
            key @ (Value::Number(_) | Value::Bool(_)) => {
                let mut text = Vec::new();
                encode_untyped(&key, &mut text);
                let name = String::from_utf8_lossy(&text).into_owned();
                Ok(Name::Of { shown: name.clone(), name })
            }
            Value::Null => Err(E::custom(failure::NULL_KEY)),
            Value::Array(_) | Value::Object(_) => Err(E::custom(failure::INVALID_KEY)),
        }
    }
}

impl<'de> Visitor<'de> for Key<'_, '_> {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Name, E> {
        Self::of(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Name, E> {
        Self::of(value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Name, E> {
        Self::of(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Name, E> {
        Self::of(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Name, E> {
        Self::of(value.into())
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<Name, E> {
        if !self.0.is_plain(value) {
            return self.visit_str(value);
        }
        if value == "<<" { Ok(Name::Merge) } else { Self::of(resolve::value(value)) }
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Name, E> {
        Self::of(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _items: A) -> Result<Name, A::Error> {
        Err(A::Error::custom(failure::INVALID_KEY))
    }

    fn visit_map<A: MapAccess<'de>>(self, _members: A) -> Result<Name, A::Error> {
        Err(A::Error::custom(failure::INVALID_KEY))
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
