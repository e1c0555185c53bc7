//! Sets that name parts of what has one owner as a whole.

use super::set::{Node, Set};
use super::shape::{ListKind, Shape};

/// Replaces paths into atomic places by the place. Clients can send such sets, and older versions of Kubernetes stored
/// them. Source: structured-merge-diff `ReconcileFieldSetWithSchema`.
pub(crate) fn reconcile<'a>(shape: Shape, set: &Set<'a>) -> Set<'a> {
    let nodes = set.nodes().iter().map(|node| match shape.below(&node.element) {
        None => node.clone(),
        Some(below) => reconcile_node(below, node),
    });
    Set::from_nodes(nodes.collect())
}

fn reconcile_node<'a>(shape: Shape, node: &Node<'a>) -> Node<'a> {
    let whole = node.member && node.children.is_empty();
    let atomic = match shape {
        Shape::Struct { atomic, .. } | Shape::Map { atomic, .. } | Shape::Any { atomic } => atomic,
        Shape::List(list) => matches!(list.kind, ListKind::Atomic),
        Shape::Scalar(_) => false,
    };
    if atomic && !whole {
        return Node { element: node.element.clone(), member: true, children: Set::default() };
    }
    Node { element: node.element.clone(), member: node.member, children: reconcile(shape, &node.children) }
}
