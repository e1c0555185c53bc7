//! Texts as documents: YAML with several documents, or JSON values one after another.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The key that merges other mappings into its own (YAML 1.1, which kubectl reads).
const MERGE_KEY: &str = "<<";
/// Values and bytes of scalars that aliases may add to those of a text, which has at most three a byte. The embedded API
/// server allows as many. The parser counts only the aliases, of which it lets a text have a hundred times as many as values.
const MAX_REPEATED: usize = 3 << 20;

/// A document that holds something.
#[derive(Debug, PartialEq)]
pub struct Document {
    /// The number in its text, from 1; empty documents count.
    pub number: usize,
    /// Its content.
    pub tree: Value,
}

/// A text that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The number of the document.
    pub document: usize,
    /// The reason why it cannot be read.
    pub reason: String,
    /// From 1, if known.
    pub line: Option<usize>,
}

/// Reads all documents of a text.
///
/// # Errors
/// The first syntax error, a key that a mapping has twice, or aliases that repeat too much.
pub fn parse(text: &str) -> Result<Vec<Document>, Unreadable> {
    let mut documents = Vec::new();
    let left = Cell::new(3 * text.len() + MAX_REPEATED);
    let tree = Tree { left: &left };
    each(text, |number, document| {
        let tree = match document {
            Syntax::Yaml(yaml) => tree.deserialize(yaml).map_err(|error| unreadable_yaml(number, &error))?,
            Syntax::Json(json) => tree.deserialize(json).map_err(|error| unreadable_json(number, &error))?,
        };
        if !tree.is_null() {
            documents.push(Document { number, tree });
        }
        Ok(())
    })?;
    Ok(documents)
}

/// A parser at the start of a document.
pub(super) enum Syntax<'a, 'de> {
    Yaml(serde_yaml::Deserializer<'de>),
    Json(&'a mut serde_json::Deserializer<serde_json::de::StrRead<'de>>),
}

/// Calls `read` with the number of each document, until it fails.
pub(super) fn each<'de, E>(
    text: &'de str,
    mut read: impl FnMut(usize, Syntax<'_, 'de>) -> Result<(), E>,
) -> Result<(), E> {
    if !is_json(text) {
        let documents = serde_yaml::Deserializer::from_str(text).enumerate();
        return documents.into_iter().try_for_each(|(index, yaml)| read(index + 1, Syntax::Yaml(yaml)));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let mut number = 1;
    while json.end().is_err() {
        read(number, Syntax::Json(&mut json))?;
        number += 1;
    }
    Ok(())
}

/// True if the text is JSON, for which there is a much faster parser. The first value decides: what is not JSON, or followed by a
/// separator of documents, is left to the parser of YAML, whose flow style looks the same.
fn is_json(text: &str) -> bool {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<de::IgnoredAny>();
    let is_value = text.trim_start().starts_with('{') && values.next().is_some_and(|value| value.is_ok());
    let rest = text.get(values.byte_offset()..).unwrap_or_default();
    is_value && !rest.trim_start().starts_with("---")
}

fn unreadable_yaml(document: usize, error: &serde_yaml::Error) -> Unreadable {
    let line = error.location().map(|location| location.line());
    Unreadable { document, reason: without_place(&error.to_string()), line }
}

fn unreadable_json(document: usize, error: &serde_json::Error) -> Unreadable {
    Unreadable { document, reason: without_place(&error.to_string()), line: Some(error.line()) }
}

/// A message without the place at its end, which is written in our own form.
fn without_place(message: &str) -> String {
    let end = message.find(" at line ").unwrap_or(message.len());
    message.get(..end).unwrap_or(message).to_owned()
}

/// Reads a tree of JSON, and refuses a key that a mapping has twice, as kubectl does.
#[derive(Clone, Copy)]
struct Tree<'a> {
    /// Values and bytes of scalars that may still come.
    left: &'a Cell<usize>,
}

impl Tree<'_> {
    /// Counts values, or the bytes of a scalar or a key.
    fn count<E: de::Error>(self, size: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(size);
        self.left.set(left.ok_or_else(|| E::custom("aliases repeat too much"))?);
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
        f.write_str("a value of JSON")
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

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).map(Value::Number);
        number.ok_or_else(|| E::custom(format!("{value} is not a number of JSON")))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        self.count(value.len())?;
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    /// An empty document.
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element_seed(self)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let (mut map, mut merged) = (Map::new(), Vec::new());
        while let Some(key) = entries.next_key::<String>()? {
            self.count(key.len())?;
            if map.contains_key(&key) {
                return Err(de::Error::custom(format!("key {key:?} is there twice")));
            }
            let value = entries.next_value_seed(self)?;
            if key == MERGE_KEY {
                merged.push(value);
            } else {
                map.insert(key, value);
            }
        }
        for value in merged {
            merge(&mut map, value);
        }
        Ok(map.into())
    }

    /// Tags such as `!binary` have no meaning in manifests.
    fn visit_enum<A: EnumAccess<'de>>(self, value: A) -> Result<Value, A::Error> {
        let (tag, _) = value.variant::<String>()?;
        Err(de::Error::custom(format!("tag {tag:?} is not supported")))
    }
}

/// Adds the entries of a mapping, or of each of a sequence, that `map` does not have.
fn merge(map: &mut Map<String, Value>, value: Value) {
    match value {
        Value::Object(other) => {
            for (key, value) in other {
                map.entry(key).or_insert(value);
            }
        }
        Value::Array(others) => {
            for other in others {
                merge(map, other);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn trees(text: &str) -> Vec<(usize, Value)> {
        let documents = parse(text).unwrap();
        documents.into_iter().map(|document| (document.number, document.tree)).collect()
    }

    fn refused(text: &str) -> (usize, String, Option<usize>) {
        let Unreadable { document, reason, line } = parse(text).unwrap_err();
        (document, reason, line)
    }

    #[test]
    fn empty_documents_count_and_are_left_out() {
        let text = "# a comment\n---\na: 1\n---\n---\nb: [x, 2.5, true, ~]\n...\n";
        // What comes before the first separator is a document only if it holds something.
        assert_eq!(trees(text), [(1, json!({"a": 1})), (3, json!({"b": ["x", 2.5, true, null]}))]);
        assert_eq!(trees(""), []);
        assert_eq!(trees("---\na: 1\n"), [(1, json!({"a": 1}))]);
    }

    #[test]
    fn json_values_follow_each_other() {
        assert_eq!(trees("{\"a\": 1}\n{\"b\": {}}"), [(1, json!({"a": 1})), (2, json!({"b": {}}))]);
        assert_eq!(trees("{\"a\": 1}\n---\nb: 2\n"), [(1, json!({"a": 1})), (2, json!({"b": 2}))]);
        assert_eq!(trees("{a: 1}\n--- {\"b\": 2}"), [(1, json!({"a": 1})), (2, json!({"b": 2}))]);
    }

    #[test]
    fn keys_are_texts() {
        assert_eq!(trees("1: a\ntrue: b"), [(1, json!({"1": "a", "true": "b"}))]);
    }

    #[test]
    fn mappings_are_merged() {
        let text = "base: &base {a: 1, b: 2}\nmore:\n  <<: *base\n  b: 3\n";
        assert_eq!(trees(text), [(1, json!({"base": {"a": 1, "b": 2}, "more": {"a": 1, "b": 3}}))]);
    }

    #[test]
    fn errors_have_the_document_and_the_line() {
        assert_eq!(refused("a: 1\n---\nb: 1\nb: 2\n"), (2, "key \"b\" is there twice".to_owned(), Some(3)));
        let (document, reason, line) = refused("a: 1\n---\nb:\n\t- x\n");
        assert_eq!((document, line), (2, Some(4)), "{reason}");
        let (document, reason, line) = refused("{\"a\": 1}\n{\"b\": 1,\n \"b\": 2}");
        assert_eq!((document, reason.as_str(), line), (2, "key \"b\" is there twice", Some(3)));
        let (_, reason, line) = refused("a: !secret x");
        assert!(reason.contains("tag"), "{reason}");
        assert_eq!(line, Some(1));
        assert_eq!(refused("a: .inf").1, "a: inf is not a number of JSON");
    }

    #[test]
    fn deep_nesting_is_refused() {
        for open in ["[", "{\"a\":"] {
            assert!(parse(&open.repeat(5_000)).is_err());
        }
    }

    #[test]
    fn aliases_repeat_what_a_manifest_needs_and_no_more() {
        let shared = "labels: &labels {app: web}\n".to_owned();
        let uses = (0..1000).map(|number| format!("k{number}: *labels\n"));
        assert!(parse(&(shared + &uses.collect::<String>())).is_ok());

        // A text, the same merged, many values, many keys.
        let long = "x".repeat(1 << 20);
        let times = |count: usize, what: &str| format!("b: [{}]\n", vec![what; count].join(", "));
        let of = |count, what: fn(usize) -> String| (0..count).map(what).collect::<String>();
        for bomb in [
            format!("a: &a {long}\n") + &times(100, "*a"),
            format!("a: &a {{k: {long}}}\n") + &times(100, "{<<: *a}"),
            format!("a: &a [{}]\n", of(10_000, |_| "~, ".to_owned())) + &times(1000, "*a"),
            format!("a: &a {{{}}}\n", of(10_000, |n| format!("k{n}: ~, "))) + &times(1000, "*a"),
        ] {
            let (document, reason, line) = refused(&bomb);
            assert!(document == 1 && line.is_some(), "{reason}");
            assert!(reason.ends_with("aliases repeat too much"), "{reason}");
        }
        // The parser's own limit.
        let doubled = of(40, |level| format!("k{}: &k{} [*k{level}, *k{level}]\n", level + 1, level + 1));
        assert!(parse(&format!("k0: &k0 [x]\n{doubled}")).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-a-c:\\[\\]{}&*!\"'\n #|>0-9<,?%]{0,60}") {
            drop(parse(&text));
        }
    }
}
