//! One step of a path into an object, as `FieldsV1` names it.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Deserializer, Value};

use crate::codec::fields_v1::order;
use crate::go;

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

impl<'a> Element<'a> {
    /// Reads `f:…`, `k:{…}`, `v:…` or `i:…`: `Some(None)` for an unknown type of element, which readers skip, and `None` if the
    /// text is no element.
    #[expect(clippy::option_option, reason = "two kinds of nothing")]
    pub(crate) fn parse(text: &'a str) -> Option<Option<Self>> {
        let (kind, rest) = (text.get(..2)?, text.get(2..)?);
        Some(Some(match kind {
            "f:" => Self::Field(Cow::Borrowed(rest)),
            "v:" => Self::Value(Cow::Owned(first_json(rest)?)),
            "k:" => match first_json(rest)? {
                Value::Object(fields) => {
                    let fields = fields.into_iter();
                    Self::Key(fields.map(|(name, value)| (Cow::Owned(name), Cow::Owned(value))).collect())
                }
                _ => return None,
            },
            "i:" => Self::Index(rest.parse().ok()?),
            _ => return kind.ends_with(':').then_some(None),
        }))
    }

    /// The text that [`parse`](Self::parse) reads, as in `FieldsV1`.
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => ["f:", name].concat(),
            Self::Value(value) => format!("v:{}", go::json(value)),
            Self::Index(index) => format!("i:{index}"),
            Self::Key(fields) => {
                let mut text = "k:{".to_owned();
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    text.push_str(&go::json(&Value::String(name.clone().into_owned())));
                    text.push(':');
                    text.push_str(&go::json(value));
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

/// The first JSON value of a text; what follows it is not looked at.
fn first_json(text: &str) -> Option<Value> {
    Deserializer::from_str(text).into_iter().next()?.ok()
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
