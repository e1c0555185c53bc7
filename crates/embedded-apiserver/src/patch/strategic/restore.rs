//! The typed object of a patched tree. Source: `FromUnstructured` of apimachinery's `runtime.DefaultUnstructuredConverter`,
//! with its errors, which are not those of the JSON decoder.

use serde_json::{Number, Value};

use crate::codec::json::json_type_of;
use crate::patch::go_text;
use crate::schema::{Node, Shape, Type};

/// Converts the scalars of a tree to their types. The decoder finds nothing wrong with it then but unknown fields and the
/// texts of times and quantities.
///
/// # Errors
/// A value does not fit its place. Fields are read in the order of the Go struct.
pub(crate) fn restore(of: &'static Type, tree: &mut Value) -> Result<(), String> {
    let Value::Object(fields) = tree else {
        return Err(format!("cannot restore struct from: {}", kind_of(tree)));
    };
    for field in &of.fields {
        if let Some(value) = fields.get_mut(field.json) {
            restore_node(&field.node, value)?;
        }
    }
    Ok(())
}

fn restore_node(of: &'static Node, value: &mut Value) -> Result<(), String> {
    match (&of.shape, value) {
        (_, Value::Null)
        | (Shape::String | Shape::Time | Shape::MicroTime | Shape::IntOrString, Value::String(_))
        | (Shape::Bool, Value::Bool(_))
        | (Shape::Quantity | Shape::FieldsV1 | Shape::RawExtension, _) => Ok(()),
        (Shape::Struct(inner), value) => restore(inner.get(), value),
        (Shape::List(item) | Shape::Items(item), Value::Array(items)) => {
            items.iter_mut().try_for_each(|value| restore_node(item, value))
        }
        (Shape::List(_) | Shape::Items(_), value) => {
            Err(format!("cannot restore slice from {}", kind_of(value)))
        }
        (Shape::Map(item), Value::Object(fields)) => {
            fields.values_mut().try_for_each(|value| restore_node(item, value))
        }
        (Shape::Map(_), value) => Err(format!("cannot restore map from {}", kind_of(value))),
        (Shape::Int32 | Shape::Int64, Value::Number(number)) => {
            let whole = integer(of, number)?;
            *number = whole.into();
            Ok(())
        }
        // Go could convert it, to a character.
        (Shape::String, Value::Number(number)) if !number.is_f64() => {
            Err(format!("cannot convert int64 to {}", of.go))
        }
        (Shape::String | Shape::Bool | Shape::Int32 | Shape::Int64, _) => {
            Err(format!("unrecognized type: {}", go_kind(&of.shape)))
        }
        (Shape::Time | Shape::MicroTime, Value::Number(_)) => Err(unmarshal_error("number", "string")),
        (Shape::Time | Shape::MicroTime, value) => Err(unmarshal_error(json_type_of(value), "string")),
        (Shape::IntOrString, Value::Number(number)) => {
            let small = number.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
            if small { Ok(()) } else { Err(unmarshal_error(&format!("number {number}"), "int32")) }
        }
        (Shape::IntOrString, value) => Err(unmarshal_error(json_type_of(value), "int32")),
    }
}

/// The error of a type that decodes JSON itself.
fn unmarshal_error(what: &str, of: &str) -> String {
    format!("json: cannot unmarshal {what} into Go value of type {of}")
}

/// A number as Go converts it: fractions are refused, what is too large is cut off.
fn integer(of: &'static Node, number: &Number) -> Result<i64, String> {
    let whole = match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole,
        #[expect(clippy::cast_possible_truncation, reason = "Go's conversion truncates, too")]
        (None, Some(float)) if float.fract() == 0.0 => float as i64,
        _ => return Err(format!("cannot convert float64 to {}", of.go)),
    };
    Ok(match of.shape {
        #[expect(clippy::cast_possible_truncation, reason = "Go's conversion truncates, too")]
        Shape::Int32 => i64::from(whole as i32),
        _ => whole,
    })
}

/// The kind of a value's Go type.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => go_text::type_of(other),
    }
}

/// The kind of a scalar's Go type.
fn go_kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Bool => "bool",
        Shape::Int32 => "int32",
        Shape::Int64 => "int64",
        _ => "string",
    }
}
