//! The schema as server-side apply sees it: what is one value, and what has parts with owners of their own.

use std::borrow::Cow;

use serde_json::Value;

use crate::schema::{self, Field, ListType, Node, Type};

use super::element::Element;

/// The structure of a place in an object. Source: kube-openapi `schemaconv`, which derives it from the definitions of `OpenAPI`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// A string, number or boolean.
    Scalar(Scalar),
    /// A struct; other fields than its own are errors.
    Struct {
        /// The Go type.
        of: &'static Type,
        /// True if it has one owner as a whole.
        atomic: bool,
    },
    /// A map with strings as keys.
    Map {
        /// The type of its values.
        value: &'static Node,
        /// True if it has one owner as a whole.
        atomic: bool,
    },
    /// A list.
    List(List),
    /// Any JSON. Lists in it are atomic.
    Any,
}

/// The types of scalars that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Numeric,
    String,
    Boolean,
    /// Times, quantities and the like: any scalar.
    Untyped,
}

/// A list and the rule for the owners of its items.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    /// The type of its items.
    pub(crate) item: &'static Node,
    /// The rule.
    pub(crate) kind: ListKind,
}

/// The rule for the owners of a list's items.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ListKind {
    /// The list has one owner as a whole.
    Atomic,
    /// Items are scalars, each with its owner.
    Set,
    /// Items are structs, told apart by these fields.
    Map(&'static [&'static str]),
}

impl Shape {
    /// The shape of an object of this type.
    pub(crate) fn of_type(of: &'static Type) -> Self {
        Self::Struct { of, atomic: of.atomic }
    }

    /// The shape of a value in a list or map.
    pub(crate) fn of_node(node: &'static Node) -> Self {
        match &node.shape {
            schema::Shape::String => Self::Scalar(Scalar::String),
            schema::Shape::Bool => Self::Scalar(Scalar::Boolean),
            schema::Shape::Int32 | schema::Shape::Int64 => Self::Scalar(Scalar::Numeric),
            schema::Shape::Time
            | schema::Shape::MicroTime
            | schema::Shape::Quantity
            | schema::Shape::IntOrString => Self::Scalar(Scalar::Untyped),
            schema::Shape::FieldsV1 => Self::Any,
            schema::Shape::Struct(of) => Self::of_type(of.get()),
            schema::Shape::List(item) | schema::Shape::Items(item) => {
                Self::List(List { item, kind: ListKind::Atomic })
            }
            schema::Shape::Map(value) => Self::Map { value, atomic: false },
        }
    }

    /// The shape of a field: that of its type, with the rules that stand at the field.
    pub(crate) fn of_field(field: &'static Field) -> Self {
        match Self::of_node(&field.node) {
            Self::Struct { of, atomic } => Self::Struct { of, atomic: atomic || field.atomic_map },
            Self::Map { value, atomic } => Self::Map { value, atomic: atomic || field.atomic_map },
            Self::List(List { item, .. }) => Self::List(List { item, kind: list_kind(field) }),
            other => other,
        }
    }

    /// The shape of a field of a struct or a key of a map, and whether it is a declared field. `None` if there is none.
    pub(crate) fn child(self, name: &str) -> Option<(Self, bool)> {
        match self {
            Self::Struct { of, .. } => of.field(name).map(|field| (Self::of_field(field), true)),
            Self::Map { value, .. } => Some((Self::of_node(value), false)),
            Self::Any => Some((self, false)),
            Self::Scalar(_) | Self::List(_) => None,
        }
    }

    /// True if a value in this place has one owner as a whole.
    pub(crate) fn is_leaf(self, value: &Value) -> bool {
        match self {
            Self::Scalar(_) => true,
            Self::Struct { atomic, .. } | Self::Map { atomic, .. } => atomic,
            Self::List(list) => matches!(list.kind, ListKind::Atomic),
            Self::Any => !(value.is_object() || value.is_null()),
        }
    }
}

fn list_kind(field: &'static Field) -> ListKind {
    match &field.list_type {
        Some(ListType::Set) => ListKind::Set,
        Some(ListType::Map(keys)) => ListKind::Map(keys),
        // schemaconv: without a list type, the strategy of patches decides
        None if field.patch_strategy.split(',').any(|strategy| strategy == "merge") => {
            if field.patch_merge_key.is_empty() {
                ListKind::Set
            } else {
                ListKind::Map(std::slice::from_ref(&field.patch_merge_key))
            }
        }
        Some(ListType::Atomic) | None => ListKind::Atomic,
    }
}

impl List {
    /// The shape of its items.
    pub(crate) fn item(self) -> Shape {
        Shape::of_node(self.item)
    }

    /// The step to an item.
    pub(crate) fn element(self, item: &Value) -> Result<Element<'_>, String> {
        match self.kind {
            ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListKind::Set => set_element(item),
            ListKind::Map(keys) => self.keyed_element(keys, item),
        }
    }

    fn keyed_element<'a>(self, keys: &[&'static str], item: &'a Value) -> Result<Element<'a>, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let mut key = Vec::with_capacity(keys.len());
        for &name in keys {
            if let Some(value) = fields.get(name).or_else(|| self.default_of(name)) {
                key.push((Cow::Borrowed(name), Cow::Borrowed(value)));
            }
        }
        if key.is_empty() && !keys.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| format!("\"{key}\"")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                keys.join(" ")
            ));
        }
        key.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Element::Key(key))
    }

    /// The value that an absent key field stands for.
    fn default_of(self, name: &str) -> Option<&'static Value> {
        match Shape::of_node(self.item) {
            Shape::Struct { of, .. } => of.field(name)?.default.as_ref(),
            _ => None,
        }
    }
}

fn set_element(item: &Value) -> Result<Element<'_>, String> {
    let text = match item {
        Value::Object(_) => "associative list without keys has an element that's a map type",
        Value::Array(_) => "not supported: associative list with lists as elements",
        Value::Null => "associative list without keys has an element that's an explicit null",
        _ => return Ok(Element::Value(Cow::Borrowed(item))),
    };
    Err(text.to_owned())
}
