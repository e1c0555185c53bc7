//! The paths that an object consists of.

use std::borrow::Cow;

use serde_json::Value;

use super::element::Element;
use super::set::{Node, Part, Set};
use super::shape::{List, ListKind, Shape};

/// The set of all leaves and list items of an object. Source: structured-merge-diff `ToFieldSet`.
///
/// Fields that the type lacks are left out, as are list items without a key.
pub(crate) fn collect(shape: Shape, value: &Value) -> Set<'_> {
    below(shape, value).children
}

/// The fields at a place and below it.
fn below(shape: Shape, value: &Value) -> Part<'_> {
    if shape.is_leaf(value) {
        return Part::leaf();
    }
    let children = match (shape, value) {
        (Shape::List(list), Value::Array(items)) => collect_items(list, items),
        (_, Value::Object(fields)) => {
            let nodes = fields.iter().filter_map(|(name, field)| {
                let (further, declared) = shape.child(name)?;
                let found = below(further, field);
                let void = field.is_null() || field.as_object().is_some_and(serde_json::Map::is_empty);
                let member = found.member || void || !declared;
                Some(Node { element: Element::Field(Cow::Borrowed(name)), member, children: found.children })
            });
            Set::from_nodes(nodes.collect())
        }
        _ => Set::default(),
    };
    Part { member: false, children }
}

/// Items that occur several times are one value together.
fn collect_items(list: List, items: &[Value]) -> Set<'_> {
    if matches!(list.kind, ListKind::Atomic) {
        return Set::default();
    }
    let mut nodes: Vec<Node<'_>> = Vec::with_capacity(items.len());
    let mut doubles: Vec<Element<'_>> = Vec::new();
    let mut keyed: Vec<_> =
        items.iter().filter_map(|item| list.element(item).ok().map(|key| (key, item))).collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    for (element, item) in keyed {
        if let Some(last) = nodes.last_mut()
            && last.element == element
        {
            last.children = Set::default();
            doubles.push(element);
            continue;
        }
        nodes.push(Node { element, member: true, children: below(list.item(), item).children });
    }
    Set::from_nodes(nodes)
}

/// The set with all declared fields that lead to its members as members, too: `a.b` makes `a` one, unless `a` is a map's
/// key. Source: structured-merge-diff `EnsureNamedFieldsAreMembers`.
pub(crate) fn with_named_fields<'a>(set: &Set<'a>, shape: Option<Shape>) -> Set<'a> {
    let nodes = set.nodes().iter().map(|node| {
        let (below, declared) = match (shape, &node.element) {
            (Some(shape), Element::Field(name)) => match shape.child(name) {
                Some((below, declared)) => (Some(below), declared),
                None => (None, false),
            },
            (Some(Shape::List(list)), Element::Key(_)) => (Some(list.item()), false),
            _ => (None, false),
        };
        Node {
            element: node.element.clone(),
            member: node.member || (declared && !node.children.is_empty()),
            children: with_named_fields(&node.children, below),
        }
    });
    Set::from_nodes(nodes.collect())
}
