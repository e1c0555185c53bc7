//! The typed object of a patched tree. Source: `FromUnstructured` of apimachinery's `runtime.DefaultUnstructuredConverter`,
//! with its errors, which are not those of the JSON decoder.

use serde_json::{Map, Number, Value};

use crate::patch::go_text;
use crate::schema::{Node, Shape, Type};

/// The tree with its scalars as their types have them. The decoder finds nothing wrong with it but unknown fields and the texts
/// of times and quantities.
///
/// Cost: a copy.
///
/// # Errors
/// A value does not fit its place. Fields are read in the order of the Go struct.
pub(crate) fn restore(of: &'static Type, tree: &Value) -> Result<Value, String> {
    let Value::Object(fields) = tree else {
        return Err(format!("cannot restore struct from: {}", kind_of(tree)));
    };
    let mut restored = fields.clone();
    for field in &of.fields {
        let Some(value) = restored.get_mut(field.json).filter(|value| !value.is_null()) else { continue };
        *value = restore_node(&field.node, value)?;
    }
    Ok(Value::Object(restored))
}

fn restore_node(of: &'static Node, value: &Value) -> Result<Value, String> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let wrong_json = |of: &str| {
        let name = match value {
            Value::Number(number) => format!("number {number}"),
            other => go_text::json_type_of(other).to_owned(),
        };
        Err(format!("json: cannot unmarshal {name} into Go value of type {of}"))
    };
    match (&of.shape, value) {
        (Shape::Struct(inner), _) => restore(inner.get(), value),
        (Shape::List(item) | Shape::Items(item), Value::Array(items)) => {
            items.iter().map(|value| restore_node(item, value)).collect::<Result<_, _>>().map(Value::Array)
        }
        (Shape::List(_) | Shape::Items(_), _) => Err(format!("cannot restore slice from {}", kind_of(value))),
        (Shape::Map(item), Value::Object(fields)) => {
            let fields = fields.iter().map(|(name, value)| Ok((name.clone(), restore_node(item, value)?)));
            fields.collect::<Result<Map<_, _>, String>>().map(Value::Object)
        }
        (Shape::Map(_), _) => Err(format!("cannot restore map from {}", kind_of(value))),
        (Shape::String | Shape::Time | Shape::MicroTime, Value::String(_))
        | (Shape::Bool, Value::Bool(_)) => Ok(value.clone()),
        (Shape::Int32 | Shape::Int64, Value::Number(number)) => integer(of, number),
        // Go could convert it, to a character.
        (Shape::String, Value::Number(number)) if !number.is_f64() => {
            Err(format!("cannot convert int64 to {}", of.go))
        }
        (Shape::String | Shape::Bool | Shape::Int32 | Shape::Int64, _) => {
            Err(format!("unrecognized type: {}", go_kind(&of.shape)))
        }
        (Shape::Time | Shape::MicroTime, Value::Number(_)) => {
            Err("json: cannot unmarshal number into Go value of type string".to_owned())
        }
        (Shape::Time | Shape::MicroTime, _) => wrong_json("string"),
        (Shape::IntOrString, Value::Number(number)) => {
            let small = number.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
            if small { Ok(value.clone()) } else { wrong_json("int32") }
        }
        (Shape::IntOrString, Value::Bool(_) | Value::Array(_) | Value::Object(_)) => wrong_json("int32"),
        (Shape::Quantity | Shape::FieldsV1 | Shape::RawExtension | Shape::IntOrString, _) => {
            Ok(value.clone())
        }
    }
}

/// A number as Go converts it: fractions are refused, what is too large is cut off.
fn integer(of: &'static Node, number: &Number) -> Result<Value, String> {
    let whole = match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole,
        #[expect(clippy::cast_possible_truncation, reason = "Go's conversion truncates, too")]
        (None, Some(float)) if float.fract() == 0.0 => float as i64,
        _ => return Err(format!("cannot convert float64 to {}", of.go)),
    };
    Ok(match of.shape {
        #[expect(clippy::cast_possible_truncation, reason = "Go's conversion truncates, too")]
        Shape::Int32 => Value::from(whole as i32),
        _ => Value::from(whole),
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
