//! Tree to JSON, as Go encodes a typed object.

use serde_json::Value;

use crate::codec::text;
use crate::schema::{Node, Shape, Type};

/// Appends the JSON of a canonical tree: fields in the order of the Go struct, characters of HTML escaped, no line feed at
/// the end.
///
/// Cost: one lookup for each field of the types.
pub(crate) fn encode(of: &'static Type, tree: &Value, out: &mut Vec<u8>) {
    let Some(map) = tree.as_object() else { return encode_untyped(tree, out) };
    let mut separator = b'{';
    for field in &of.fields {
        if let Some(value) = map.get(field.json) {
            out.push(separator);
            separator = b',';
            out.extend_from_slice(field.key.as_bytes());
            node(&field.node, value, out);
        }
    }
    if separator == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
}

fn node(of: &'static Node, value: &Value, out: &mut Vec<u8>) {
    match (&of.shape, value) {
        (Shape::Struct(inner), value @ Value::Object(_)) => encode(inner.get(), value, out),
        (Shape::FieldsV1, value @ Value::Object(_)) => {
            text::write_json(out, &crate::codec::fields_v1::to_vec(value))
        }
        (Shape::List(item) | Shape::Items(item), Value::Array(items)) => {
            list(items, out, |value, out| node(item, value, out))
        }
        (Shape::Map(item), Value::Object(map)) => members(map, out, |value, out| node(item, value, out)),
        _ => encode_untyped(value, out),
    }
}

/// Appends the JSON of any value with Go's escapes, and keys in the order of the tree.
pub(crate) fn encode_untyped(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Value::Number(number) => out.extend_from_slice(self::number(number).as_bytes()),
        Value::String(value) => text::write_str(out, value),
        Value::Array(items) => list(items, out, encode_untyped),
        Value::Object(map) => members(map, out, encode_untyped),
    }
}

/// A number: floats without a fraction as integers, and none with an exponent.
fn number(number: &serde_json::Number) -> String {
    let float = number.as_f64().filter(|_| number.is_f64());
    float.map_or_else(|| number.to_string(), |float| float.to_string())
}

fn list(items: &[Value], out: &mut Vec<u8>, mut write: impl FnMut(&Value, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

fn members(
    map: &serde_json::Map<String, Value>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&Value, &mut Vec<u8>),
) {
    out.push(b'{');
    for (index, (key, value)) in map.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        text::write_str(out, key);
        out.push(b':');
        write(value, out);
    }
    out.push(b'}');
}
