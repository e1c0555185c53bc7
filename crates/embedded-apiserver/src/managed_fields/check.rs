//! The check that an object has the structure of its type.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::patch::go_text;

use super::element::Element;
use super::problem::Problems;
use super::shape::{List, ListKind, Scalar, Shape};

/// Compares a value with the structure of its place. Items with the same key are errors.
pub(crate) fn check(shape: Shape, value: &Value) -> Problems {
    let mut problems = Problems::default();
    if value.is_null() {
        return problems;
    }
    match shape {
        Shape::Scalar(scalar) => {
            if let Err(message) = check_scalar(scalar, value) {
                problems.add(message);
            }
        }
        Shape::Struct { .. } | Shape::Map { .. } => match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let step = Element::Field(name.into());
                    let Some((below, _)) = shape.child(name) else {
                        let mut unknown = Problems::default();
                        unknown.add("field not declared in schema");
                        problems.add_below(&step, unknown);
                        // upstream stops, too
                        break;
                    };
                    problems.add_below(&step, check(below, field));
                }
            }
            _ => problems.add(format!("expected map, got {}", wrapped(value))),
        },
        Shape::List(list) => match value {
            Value::Array(items) => check_items(list, items, &mut problems),
            _ => problems.add(format!("expected list, got {}", wrapped(value))),
        },
        Shape::Any { .. } => {}
    }
    problems
}

fn check_items(list: List, items: &[Value], problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        if matches!(list.kind, ListKind::Atomic) {
            let step = Element::Index(i64::try_from(index).unwrap_or(i64::MAX));
            problems.add_below(&step, check(list.item(), item));
            continue;
        }
        let step = match list.element(item) {
            Ok(step) => step,
            Err(message) => return problems.add(format!("element {index}: {message}")),
        };
        if !seen.insert(step.clone()) {
            problems.add(format!("duplicate entries for key {step}"));
        }
        problems.add_below(&step, check(list.item(), item));
    }
}

/// Compares a value with the type of a scalar.
fn check_scalar(scalar: Scalar, value: &Value) -> Result<(), String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Number(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, Value::Number(_) | Value::String(_) | Value::Bool(_)) => Ok(()),
        (Scalar::Numeric, _) => {
            Err(format!("expected numeric (int or float), got {}", go_text::type_of(value)))
        }
        (Scalar::String, _) => {
            Err(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_text::sharp(value)))
        }
        (Scalar::Boolean, _) => Err(format!("expected boolean, got {}", wrapped(value))),
        (Scalar::Untyped, _) => Err(format!("expected any scalar, got {}", wrapped(value))),
    }
}

/// The value as Go prints the struct that upstream keeps it in.
fn wrapped(value: &Value) -> String {
    format!("&{{{}}}", go_text::plain(value))
}
