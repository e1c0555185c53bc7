//! An object without some of its paths.

use serde_json::{Map, Value};

use super::element::Element;
use super::set::Set;
use super::shape::{ListKind, Shape};

/// The object without these paths and what is below them. What becomes empty turns to null, as upstream leaves it; the
/// decoder of the type drops it. Source: structured-merge-diff `RemoveItems`.
pub(crate) fn remove(shape: Shape, value: &Value, paths: &Set<'_>) -> Value {
    match (shape, value) {
        (Shape::Scalar(_), _) => value.clone(),
        (Shape::List(list), Value::Array(items)) => {
            if matches!(list.kind, ListKind::Atomic) {
                return Value::Null;
            }
            let kept = items.iter().filter_map(|item| {
                let Some(node) = list.element(item).ok().and_then(|element| paths.get(&element)) else {
                    return Some(item.clone());
                };
                if node.member { None } else { Some(remove(list.item(), item, &node.children)) }
            });
            let kept: Vec<Value> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        (_, Value::Array(_) | Value::Object(_)) if shape.is_leaf(value) => Value::Null,
        (_, Value::Object(fields)) => {
            let mut kept = Map::new();
            for (name, field) in fields {
                let node = paths.get(&Element::Field(name.into()));
                let left = match (node, shape.child(name)) {
                    (Some(node), _) if node.member => continue,
                    (Some(node), Some((below, _))) => remove(below, field, &node.children),
                    _ => field.clone(),
                };
                kept.insert(name.clone(), left);
            }
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        (Shape::Any, _) => value.clone(),
        _ => Value::Null,
    }
}
