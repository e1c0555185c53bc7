//! Tree to protobuf.

use serde_json::{Map, Value};

use super::write::Writer;
use crate::codec::fields_v1;
use crate::codec::time;
use crate::schema::{Message, Node, Part, Shape, Type};

/// Encodes a canonical tree as the message of its type, byte for byte as Go's `Marshal`. `kind` and `apiVersion` are not part
/// of it.
///
/// Cost: linear, one pass. A value of another type than the schema's counts as zero; [`json::decode`] finds those.
///
/// [`json::decode`]: crate::codec::json::decode
pub(crate) fn encode(of: &'static Type, tree: &Value) -> Vec<u8> {
    let mut writer = Writer::default();
    message(&mut writer, of, &of.message, tree);
    writer.finish()
}

/// Writes the fields of an object, those of structs that JSON inlines in a message of their own.
fn message(writer: &mut Writer, of: &'static Type, message_of: &'static Message, tree: &Value) {
    for entry in &message_of.entries {
        match &entry.part {
            Part::Inlined(inner) => writer.nested(entry.number, |writer| message(writer, of, inner, tree)),
            Part::Field(position) => {
                let Some(field) = of.fields.get(*position) else { continue };
                let value = tree.get(field.json).unwrap_or(&Value::Null);
                if !(value.is_null() && field.node.pointer) {
                    node(writer, entry.number, &field.node, value);
                }
            }
        }
    }
}

/// Writes a field of any type; null is its zero value.
fn node(writer: &mut Writer, number: u32, of: &'static Node, value: &Value) {
    match &of.shape {
        Shape::String => writer.bytes(number, value.as_str().unwrap_or_default().as_bytes()),
        Shape::Bool => writer.varint_field(number, u64::from(value.as_bool().unwrap_or_default())),
        Shape::Int32 | Shape::Int64 => writer.int(number, value.as_i64().unwrap_or_default()),
        Shape::Time | Shape::MicroTime => moment(writer, number, value),
        Shape::Quantity => {
            writer.nested(number, |writer| writer.bytes(1, value.as_str().unwrap_or("0").as_bytes()))
        }
        Shape::IntOrString => writer.nested(number, |writer| {
            let text = value.as_str();
            writer.int(1, i64::from(text.is_some()));
            writer.int(2, value.as_i64().unwrap_or_default());
            writer.bytes(3, text.unwrap_or_default().as_bytes());
        }),
        Shape::FieldsV1 => writer.nested(number, |writer| {
            if !value.is_null() {
                writer.bytes(1, &fields_v1::to_vec(value));
            }
        }),
        Shape::Struct(inner) => {
            writer.nested(number, |writer| message(writer, inner.get(), &inner.get().message, value))
        }
        Shape::List(item) => {
            for value in value.as_array().into_iter().flatten() {
                node(writer, number, item, value);
            }
        }
        Shape::Items(item) => writer.nested(number, |writer| {
            for value in value.as_array().into_iter().flatten() {
                node(writer, 1, item, value);
            }
        }),
        Shape::Map(item) => {
            if let Some(map) = value.as_object() {
                entries(writer, number, item, map);
            }
        }
    }
}

/// Writes the entries of a map. The tree sorts keys by bytes, as Go's generated code does.
fn entries(writer: &mut Writer, number: u32, of: &'static Node, map: &Map<String, Value>) {
    for (key, value) in map {
        writer.nested(number, |writer| {
            writer.bytes(1, key.as_bytes());
            node(writer, 2, of, value);
        });
    }
}

fn moment(writer: &mut Writer, number: u32, value: &Value) {
    writer.nested(number, |writer| {
        if let Some((seconds, nanos)) = time::parts(value) {
            writer.int(1, seconds);
            writer.int(2, nanos);
        }
    });
}
