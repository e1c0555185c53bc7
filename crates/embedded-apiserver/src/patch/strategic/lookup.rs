//! The declarations of types that a strategic merge follows.

use crate::schema::{Node, Shape, Type};

use super::failure::Failure;

/// A place in a type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Struct(&'static Type),
    /// Anything that has no fields.
    Other(&'static Node),
}

/// The declarations of a field.
#[derive(Debug)]
pub(super) struct Field {
    /// `merge`, `replace` or empty.
    pub(super) strategy: &'static str,
    /// The key by which items are merged; empty for scalars.
    pub(super) key: &'static str,
}

impl Place {
    fn of(node: &'static Node) -> Self {
        match &node.shape {
            Shape::Struct(of) => Self::Struct(of.get()),
            _ => Self::Other(node),
        }
    }

    /// The kind in Go.
    pub(super) fn kind(self) -> &'static str {
        let node = match self {
            Self::Struct(_) => return "struct",
            Self::Other(node) => node,
        };
        match node.shape {
            Shape::List(_) | Shape::Items(_) => "slice",
            Shape::Map(_) => "map",
            Shape::String => "string",
            Shape::Bool => "bool",
            Shape::Int32 => "int32",
            Shape::Int64 => "int64",
            _ => "struct",
        }
    }

    fn declaration(self, key: &str) -> Result<(Field, &'static Node), Failure> {
        let Self::Struct(of) = self else {
            let kind = self.kind();
            return Err(Failure::Other(format!(
                "merging an object in json but data type is not struct, instead is: {kind}"
            )));
        };
        let field =
            of.field(key).or_else(|| of.fields.iter().find(|field| field.json.eq_ignore_ascii_case(key)));
        let Some(field) = field else {
            let name = of.name;
            return Err(Failure::Other(format!(
                "unable to find api field in struct {name} for the json field {}",
                crate::go::quote(key)
            )));
        };
        let strategy =
            field.patch_strategy.split(',').find(|strategy| *strategy != "retainKeys").unwrap_or_default();
        Ok((Field { strategy, key: field.patch_merge_key }, &field.node))
    }

    /// The declaration of a field, and the place of its value.
    pub(super) fn field(self, key: &str) -> Result<(Field, Self), Failure> {
        let (field, node) = self.declaration(key)?;
        Ok((field, Self::of(node)))
    }

    /// The declaration of a list, and the place of its items.
    pub(super) fn list(self, key: &str) -> Result<(Field, Self), Failure> {
        let (field, node) = self.declaration(key)?;
        match &node.shape {
            Shape::List(item) | Shape::Items(item) => Ok((field, Self::of(item))),
            _ => Err(Failure::Other(format!("expected slice or array type, but got: {}", self.kind()))),
        }
    }
}
