//! The paths in which two versions of an object differ.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::element::{Element, same};
use super::set::{Node, Part, Set};
use super::shape::{List, Shape};
use crate::kinds::tree::is_void;

/// The paths that differ. No path is in two of them.
#[derive(Debug, Default)]
pub(crate) struct Comparison<'a> {
    pub(crate) removed: Set<'a>,
    pub(crate) modified: Set<'a>,
    pub(crate) added: Set<'a>,
}

/// Compares two objects of one type. Source: structured-merge-diff `typed.Compare`.
///
/// List items without a key are left out.
///
/// Cost: linear; elements and sets are made for changed parts only, and borrow from the objects.
pub(crate) fn compare<'a>(shape: Shape, old: &'a Value, new: &'a Value) -> Comparison<'a> {
    let changes = walk(shape, Some(old), Some(new));
    Comparison {
        removed: changes.removed.children,
        modified: changes.modified.children,
        added: changes.added.children,
    }
}

/// The differences at a place and below it.
#[derive(Default)]
struct Changes<'a> {
    removed: Part<'a>,
    modified: Part<'a>,
    added: Part<'a>,
}

impl<'a> Changes<'a> {
    /// Adds the differences below `element`, which comes after all others.
    fn add(&mut self, element: &Element<'a>, below: Self) {
        below.removed.append_to(&mut self.removed.children, element);
        below.modified.append_to(&mut self.modified.children, element);
        below.added.append_to(&mut self.added.children, element);
    }
}

fn walk<'a>(shape: Shape, old: Option<&'a Value>, new: Option<&'a Value>) -> Changes<'a> {
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (None, Some(new)) => return Changes { added: whole(shape, new), ..Changes::default() },
        (Some(old), None) => return Changes { removed: whole(shape, old), ..Changes::default() },
        (None, None) => return Changes::default(),
    };
    if (shape.is_leaf(new) && shape.is_leaf(old)) || (is_void(old) && is_void(new)) {
        let modified = if same(old, new) { Part::default() } else { Part::leaf() };
        return Changes { modified, ..Changes::default() };
    }
    match shape {
        Shape::List(list) => walk_items(list, items(old), items(new)),
        Shape::Any if !is_map(old) || !is_map(new) => walk_changed_kind(shape, old, new),
        _ => walk_fields(shape, old.as_object(), new.as_object()),
    }
}

/// All paths at a place that one side does not have.
fn whole(shape: Shape, value: &Value) -> Part<'_> {
    if shape.is_leaf(value) || is_void(value) {
        return Part::leaf();
    }
    let children = match (shape, value) {
        (Shape::List(list), Value::Array(items)) => whole_items(list, items),
        (_, Value::Object(fields)) => {
            let mut nodes = Vec::with_capacity(fields.len());
            for (name, field) in fields {
                let Some((below, _)) = shape.child(name) else { continue };
                let element = Element::Field(Cow::Borrowed(name));
                let part = whole(below, field);
                nodes.push(Node { element, member: part.member, children: part.children });
            }
            Set::from_nodes(nodes)
        }
        _ => Set::default(),
    };
    Part { member: true, children }
}

fn whole_items(list: List, items: &[Value]) -> Set<'_> {
    let mut keyed = keyed(list, items).into_iter().peekable();
    let mut nodes = Vec::with_capacity(keyed.len());
    while let Some((element, item)) = keyed.next() {
        let mut double = false;
        while keyed.next_if(|(other, _)| *other == element).is_some() {
            double = true;
        }
        let part = if double { Part::leaf() } else { whole(list.item(), item) };
        nodes.push(Node { element, member: part.member, children: part.children });
    }
    Set::from_nodes(nodes)
}

/// A place of any type that holds a map on one side and something else on the other: the place and what is in the map.
fn walk_changed_kind<'a>(shape: Shape, old: &'a Value, new: &'a Value) -> Changes<'a> {
    let mut changes = walk_fields(shape, old.as_object(), new.as_object());
    changes.modified.member = !old.is_null() && !new.is_null();
    changes
}

fn walk_fields<'a>(
    shape: Shape,
    old: Option<&'a Map<String, Value>>,
    new: Option<&'a Map<String, Value>>,
) -> Changes<'a> {
    let mut changes = Changes::default();
    let mut left = old.into_iter().flatten().peekable();
    let mut right = new.into_iter().flatten().peekable();
    loop {
        let (name, old, new) = match (left.peek().copied(), right.peek().copied()) {
            (None, None) => return changes,
            (Some((a, old)), Some((b, new))) if a == b => (a, Some(old), Some(new)),
            (Some((a, old)), Some((b, _))) if a < b => (a, Some(old), None),
            (Some((a, old)), None) => (a, Some(old), None),
            (_, Some((b, new))) => (b, None, Some(new)),
        };
        if old.is_some() {
            left.next();
        }
        if new.is_some() {
            right.next();
        }
        let Some((below, _)) = shape.child(name) else {
            // It has no place in the type.
            continue;
        };
        let element = Element::Field(Cow::Borrowed(name));
        let part = walk(below, old, new);
        changes.add(&element, part);
    }
}

fn walk_items<'a>(list: List, old: &'a [Value], new: &'a [Value]) -> Changes<'a> {
    let mut changes = Changes::default();
    if !old.is_empty() && old == new {
        return changes;
    }
    let left = keyed(list, old);
    let right = keyed(list, new);
    let (mut left, mut right) = (left.as_slice(), right.as_slice());
    while let Some(element) = first_element(left, right) {
        let (old, later) = split_group(left, &element);
        left = later;
        let (new, later) = split_group(right, &element);
        right = later;
        let part = walk_group(list, old, new);
        changes.add(&element, part);
    }
    changes
}

/// Compares all items with one key. Items that occur several times are one value together.
fn walk_group<'a>(
    list: List,
    old: &[(Element<'a>, &'a Value)],
    new: &[(Element<'a>, &'a Value)],
) -> Changes<'a> {
    let first = |group: &[(Element<'a>, &'a Value)]| group.first().map(|(_, item)| *item);
    match (old.len(), new.len()) {
        (0 | 1, 0 | 1) => walk(list.item(), first(old), first(new)),
        (2.., 2..) => {
            let mut changes = Changes::default();
            changes.modified.member =
                old.len() != new.len() || old.iter().zip(new).any(|(old, new)| !same(old.1, new.1));
            changes
        }
        (2.., rest) => {
            let mut changes =
                if rest == 0 { Changes::default() } else { walk(list.item(), None, first(new)) };
            changes.removed.member = true;
            changes
        }
        (rest, _) => {
            let mut changes =
                if rest == 0 { Changes::default() } else { walk(list.item(), first(old), None) };
            changes.added.member = true;
            changes
        }
    }
}

/// The items with their keys, in the order of the keys; items with one key keep their order.
fn keyed(list: List, items: &[Value]) -> Vec<(Element<'_>, &Value)> {
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        if let Ok(element) = list.element(item) {
            keyed.push((element, item));
        }
    }
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    keyed
}

fn first_element<'a>(left: &[(Element<'a>, &Value)], right: &[(Element<'a>, &Value)]) -> Option<Element<'a>> {
    match (left.first(), right.first()) {
        (Some((a, _)), Some((b, _))) => Some(a.min(b).clone()),
        (Some((only, _)), None) | (None, Some((only, _))) => Some(only.clone()),
        (None, None) => None,
    }
}

fn split_group<'b, 'a>(
    items: &'b [(Element<'a>, &'a Value)],
    element: &Element<'a>,
) -> (&'b [(Element<'a>, &'a Value)], &'b [(Element<'a>, &'a Value)]) {
    let length = items.iter().take_while(|(other, _)| other == element).count();
    items.split_at_checked(length).unwrap_or((items, &[]))
}

fn is_map(value: &Value) -> bool {
    value.is_object() || value.is_null()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
