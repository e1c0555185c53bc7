//! The check that an object has the structure of its type.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::element::Element;
use super::shape::{List, ListKind, Scalar, Shape};

/// Compares a value with the structure of its place. Items with the same key are errors.
/// Errors: upstream's text about all places that do not fit, without the values there.
pub(crate) fn check(shape: Shape, value: &Value) -> Result<(), String> {
    let mut problems = Vec::new();
    walk(shape, value, &Path(None), &mut problems);
    match problems.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

/// A place: a chain up to the root, which is printed only if something is wrong there.
#[derive(Clone, Copy)]
struct Path<'a>(Option<(&'a Path<'a>, &'a Element<'a>)>);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |(above, step)| write!(f, "{above}{step}"))
    }
}

/// An error about a place.
fn problem(path: &Path<'_>, message: &str) -> String {
    if path.0.is_none() { message.to_owned() } else { format!("{path}: {message}") }
}

fn walk(shape: Shape, value: &Value, path: &Path<'_>, problems: &mut Vec<String>) {
    let wrong = |kind: &str| problem(path, &format!("expected {kind}"));
    match (shape, value) {
        (_, Value::Null)
        | (Shape::Any, _)
        | (Shape::Scalar(Scalar::Numeric | Scalar::Untyped), Value::Number(_))
        | (Shape::Scalar(Scalar::String | Scalar::Untyped), Value::String(_))
        | (Shape::Scalar(Scalar::Boolean | Scalar::Untyped), Value::Bool(_)) => {}
        (Shape::Scalar(Scalar::Numeric), _) => problems.push(wrong("numeric (int or float)")),
        (Shape::Scalar(Scalar::String), _) => problems.push(wrong("string")),
        (Shape::Scalar(Scalar::Boolean), _) => problems.push(wrong("boolean")),
        (Shape::Scalar(Scalar::Untyped), _) => problems.push(wrong("any scalar")),
        (Shape::Struct { .. } | Shape::Map { .. }, Value::Object(fields)) => {
            for (name, field) in fields {
                let step = Element::Field(name.into());
                let path = Path(Some((path, &step)));
                let Some((below, _)) = shape.child(name) else {
                    // Upstream stops, too.
                    return problems.push(problem(&path, "field not declared in schema"));
                };
                walk(below, field, &path, problems);
            }
        }
        (Shape::List(list), Value::Array(items)) => walk_items(list, items, path, problems),
        (Shape::List(_), _) => problems.push(wrong("list")),
        (Shape::Struct { .. } | Shape::Map { .. }, _) => problems.push(wrong("map")),
    }
}

fn walk_items(list: List, items: &[Value], path: &Path<'_>, problems: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let step = match list.element(item) {
            _ if matches!(list.kind, ListKind::Atomic) => {
                Element::Index(i64::try_from(index).unwrap_or(i64::MAX))
            }
            Ok(step) => step,
            Err(message) => return problems.push(problem(path, &format!("element {index}: {message}"))),
        };
        if !seen.insert(step.clone()) {
            problems.push(problem(path, &format!("duplicate entries for key {step}")));
        }
        walk(list.item(), item, &Path(Some((path, &step))), problems);
    }
}
