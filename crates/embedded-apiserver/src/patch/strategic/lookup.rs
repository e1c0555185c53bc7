//! The declarations of types that a strategic merge follows.

use crate::schema::{Field, Node, Shape, Type};

/// The type of a place; none for what has no fields.
pub(super) type Place = Option<&'static Type>;

/// The declaration of a field.
pub(super) fn field(place: Place, key: &str) -> Option<&'static Field> {
    let of = place?;
    of.field(key).or_else(|| of.fields.iter().find(|field| field.json.eq_ignore_ascii_case(key)))
}

/// The strategy of patches of a field: `merge`, `replace` or empty.
pub(super) fn strategy(field: &Field) -> &'static str {
    field.patch_strategy.split(',').find(|strategy| *strategy != "retainKeys").unwrap_or_default()
}

/// The place of a value.
pub(super) fn place_of(node: &'static Node) -> Place {
    match &node.shape {
        Shape::Struct(of) => Some(of.get()),
        _ => None,
    }
}

/// The place of the items of a list.
pub(super) fn items_of(field: &'static Field) -> Option<Place> {
    match &field.node.shape {
        Shape::List(item) | Shape::Items(item) => Some(place_of(item)),
        _ => None,
    }
}
