//! One step of a path into an object, as server-side apply names it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde_json::{Deserializer, Number, Value};

use crate::codec::fields_v1::{order, order_numbers};
use crate::patch::go_text;

/// A step: a field, or an item of a list by key, value or position. Source: structured-merge-diff `fieldpath.PathElement`.
#[derive(Debug, Clone)]
pub(crate) enum Element<'a> {
    /// A field of a struct or a key of a map.
    Field(Cow<'a, str>),
    /// The item of a list of `listType=map` with these key fields, in the order of their names.
    Key(Vec<(Cow<'a, str>, Cow<'a, Value>)>),
    /// The item of a list of `listType=set` that equals this.
    Value(Cow<'a, Value>),
    /// The item at this position.
    Index(i64),
}

/// The reason why a text is not an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// A type of element that this version does not know; readers skip it.
    UnknownType,
    /// Anything else.
    Malformed,
}

impl<'a> Element<'a> {
    /// Reads `f:…`, `k:{…}`, `v:…` or `i:…`.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Unreadable> {
        let (Some(kind), Some(rest)) = (text.get(..2), text.get(2..)) else {
            return Err(Unreadable::Malformed);
        };
        match kind {
            "f:" => Ok(Self::Field(Cow::Borrowed(rest))),
            "v:" => Ok(Self::Value(Cow::Owned(as_floats(first_json(rest)?)))),
            "k:" => match first_json(rest)? {
                Value::Object(fields) => Ok(Self::Key(
                    fields
                        .into_iter()
                        .map(|(name, value)| (Cow::Owned(name), Cow::Owned(as_floats(value))))
                        .collect(),
                )),
                _ => Err(Unreadable::Malformed),
            },
            "i:" => rest.parse().map(Self::Index).map_err(|_| Unreadable::Malformed),
            _ if kind.ends_with(':') => Err(Unreadable::UnknownType),
            _ => Err(Unreadable::Malformed),
        }
    }

    /// The text that [`parse`](Self::parse) reads, as in `FieldsV1`.
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => ["f:", name].concat(),
            Self::Value(value) => format!("v:{}", go_text::json(value)),
            Self::Index(index) => format!("i:{index}"),
            Self::Key(fields) => {
                let mut text = "k:{".to_owned();
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    text.push_str(&go_text::json(&Value::String(name.clone().into_owned())));
                    text.push(':');
                    text.push_str(&go_text::json(value));
                }
                text.push('}');
                text
            }
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

/// Upstream reads every number of an element as a `float64`, and prints it as such in conflicts.
fn as_floats(value: Value) -> Value {
    match &value {
        Value::Number(number) => number.as_f64().and_then(Number::from_f64).map_or(value, Value::Number),
        _ => value,
    }
}

/// The first JSON value of a text; what follows it is not looked at.
fn first_json(text: &str) -> Result<Value, Unreadable> {
    match Deserializer::from_str(text).into_iter().next() {
        Some(Ok(value)) => Ok(value),
        _ => Err(Unreadable::Malformed),
    }
}

impl Ord for Element<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            (Self::Value(a), Self::Value(b)) => order(a, b),
            (Self::Key(a), Self::Key(b)) => {
                for ((name, value), (other_name, other_value)) in a.iter().zip(b) {
                    let by = name.cmp(other_name).then_with(|| order(value, other_value));
                    if by.is_ne() {
                        return by;
                    }
                }
                a.len().cmp(&b.len())
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Element<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element<'_> {}

/// The step as it stands in messages: `.name`, `[port=80,protocol="TCP"]`, `[="x"]`, `[0]`.
impl fmt::Display for Element<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Value(value) => write!(out, "[={}]", shown(value)),
            Self::Index(index) => write!(out, "[{index}]"),
            Self::Key(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
                write!(out, "[{}]", fields.join(","))
            }
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(string) => go_text::quoted(string),
        other => go_text::plain(other),
    }
}

/// True if two values are the same to server-side apply: `1` and `1.0` are.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order_numbers(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && same(a.1, b.1))
        }
        _ => a == b,
    }
}
