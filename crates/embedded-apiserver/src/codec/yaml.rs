//! YAML to JSON, for patches of server-side apply. Clients send JSON there, people manifests.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::error::DecodeError;
use super::json::encode_untyped;

/// Converts the first document of a body to JSON. Scalars have the types of YAML 1.2.
///
/// Cost: linear. The parsers limit nesting to 128 levels. Values and texts are counted each time that an alias repeats them,
/// up to [`MAX_REPEATED`].
///
/// # Errors
/// The body is no YAML, JSON cannot express it, or a key occurs twice.
pub(crate) fn to_json(body: &[u8]) -> Result<Vec<u8>, DecodeError> {
    if nests_too_deep(body) {
        return Err(DecodeError("yaml: exceeded max depth".to_owned()));
    }
    let left = Cell::new(3 * body.len() + MAX_REPEATED);
    let tree = Tree { left: &left };
    // There is a faster parser for JSON.
    let tree = if serde_json::from_slice::<IgnoredAny>(body).is_ok() {
        tree.deserialize(&mut serde_json::Deserializer::from_slice(body)).map_err(|error| error.to_string())
    } else {
        let document = serde_yaml::Deserializer::from_slice(body).next();
        let tree = document.map_or(Ok(Value::Null), |document| tree.deserialize(document));
        tree.map_err(|error| error.to_string())
    };
    let mut text = Vec::with_capacity(body.len());
    encode_untyped(&tree.map_err(|error| DecodeError(format!("yaml: {error}")))?, &mut text);
    Ok(text)
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

/// Reads a tree, and counts what it holds.
#[derive(Clone, Copy)]
struct Tree<'a> {
    /// Values and bytes of texts that may still come.
    left: &'a Cell<usize>,
}

impl Tree<'_> {
    /// Counts a value or a text.
    fn count<E: Error>(self, size: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(size);
        self.left.set(left.ok_or_else(|| E::custom("document contains excessive aliasing"))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Value, D::Error> {
        self.count(1)?;
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
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

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = serde_json::Number::from_f64(value).map(Value::Number);
        number.ok_or_else(|| E::custom(format_args!("{value} is no number of JSON")))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.count(value.len())?;
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            self.count(key.len())?;
            let value = members.next_value_seed(self)?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("key {key:?} already set in map")));
            }
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_of(body: &[u8]) -> String {
        to_json(body).map_or_else(|error| error.0, |json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn manifests_and_json_are_read() {
        for (body, json) in [
            (
                "a: [yes, 'x', 1.0, ~]\nb:\n  c: é\n---\nsecond: document\n",
                r#"{"a":["yes","x",1,null],"b":{"c":"é"}}"#,
            ),
            ("1: a\ntrue: b", r#"{"1":"a","true":"b"}"#),
            ("a: &a {x: 1}\nb: *a", r#"{"a":{"x":1},"b":{"x":1}}"#),
            (r#" {"a": "\ud83d\ude00", "b": 1.0}"#, r#"{"a":"😀","b":1}"#),
            ("", "null"),
        ] {
            assert_eq!(json_of(body.as_bytes()), json, "{body}");
        }
    }

    #[test]
    fn what_json_cannot_express_is_refused() {
        for (body, text) in [
            ("a: b: c", "mapping values are not allowed in this context"),
            ("a: 1\nb:\n  c: 1\n  c: 2\n", "key \"c\" already set in map"),
            (r#"{"a": 1, "a": 2}"#, "key \"a\" already set in map"),
            ("a: .inf", "inf is no number of JSON"),
            ("[1]: 2", "invalid type"),
            ("\0", "control characters are not allowed"),
        ] {
            let refusal = to_json(body.as_bytes()).unwrap_err().0;
            assert!(refusal.starts_with("yaml: ") && refusal.contains(text), "{body}: {refusal}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_at_once() {
        for open in ["{", "[", "{a: ", "[{\"a\":", "- "] {
            assert!(to_json(open.repeat(100_000).as_bytes()).is_err(), "{open}");
        }
        assert_eq!(json_of(b"[[[[]]]]"), "[[[[]]]]");
    }

    #[test]
    fn aliases_repeat_a_bounded_amount() {
        let aliases = |text: usize, aliases: usize| {
            format!("a: &a {}\nb: [{}]", "x".repeat(text), "*a,".repeat(aliases))
        };
        assert!(to_json(aliases(1_000, 1_000).as_bytes()).is_ok());
        let level = |level| format!("a{level}: &a{level} [{}]\n", format!("*a{},", level - 1).repeat(9));
        let levels = (1..9).map(level).collect::<Vec<_>>().concat();
        for body in [aliases(10_000, 1_000), format!("a0: &a0 [x]\n{levels}")] {
            let refusal = to_json(body.as_bytes()).unwrap_err().0;
            assert!(
                refusal.contains("excessive aliasing") || refusal.contains("repetition limit"),
                "{refusal}"
            );
        }
    }
}
