//! Protobuf to tree.

use kube_protobuf::{Fields, Value as Wire};
use serde_json::{Map, Value};

use crate::codec::error::DecodeError;
use crate::codec::quantity;
use crate::codec::time::{self, Layout};
use crate::schema::{Entry, Message, Node, Part, Shape, Type};

/// Decodes the message of a type to its canonical tree, without `kind` and `apiVersion`. Unknown fields are dropped.
///
/// Cost: linear; nesting is limited by that of the types.
/// Errors: the bytes are not a message of this type, or a quantity is malformed. Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn decode(of: &'static Type, bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut map = Map::new();
    fields_of(of, &of.message, bytes, &mut map)?;
    Ok(of.complete(map))
}

/// Decodes the fields of a message into an object.
fn fields_of(
    of: &'static Type,
    message: &'static Message,
    bytes: &[u8],
    map: &mut Map<String, Value>,
) -> Result<(), DecodeError> {
    let mut fields = Fields::new(message.name, bytes);
    while let Some((number, wire)) = fields.next_field()? {
        match message.entry(number).map(|Entry { part, .. }| part) {
            None => {}
            Some(Part::Inlined(inner)) => fields_of(of, inner, fields.bytes(wire)?, map)?,
            Some(Part::Field(position)) => {
                let Some(field) = of.fields.get(*position) else { continue };
                if let Some(previous) = map.get_mut(field.json)
                    && append(&field.node, &fields, wire, previous)?
                {
                    continue;
                }
                // Of two values, the last counts.
                let value = node(&field.node, &fields, wire)?;
                if field.omits(&value) {
                    map.remove(field.json);
                } else {
                    map.insert(field.json.to_owned(), value);
                }
            }
        }
    }
    Ok(())
}

/// Adds another item or entry to a list or map; returns false for other types.
fn append(
    of: &'static Node,
    fields: &Fields<'_>,
    wire: Wire<'_>,
    value: &mut Value,
) -> Result<bool, DecodeError> {
    match (&of.shape, value) {
        (Shape::List(item), Value::Array(items)) => items.push(node(item, fields, wire)?),
        (Shape::Map(item), Value::Object(map)) => {
            let (key, value) = entry(item, fields.bytes(wire)?)?;
            map.insert(key, value);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Decodes one occurrence of a field.
fn node(of: &'static Node, fields: &Fields<'_>, wire: Wire<'_>) -> Result<Value, DecodeError> {
    Ok(match &of.shape {
        Shape::String => Value::String(text(fields.bytes(wire)?)),
        Shape::Bool => Value::Bool(fields.boolean(wire)?),
        Shape::Int32 => Value::from(fields.int32(wire)?),
        Shape::Int64 => Value::from(fields.int64(wire)?),
        Shape::Time => moment(Layout::Seconds, fields.bytes(wire)?)?,
        Shape::MicroTime => moment(Layout::Micros, fields.bytes(wire)?)?,
        Shape::Quantity => {
            let amount = text(only_bytes("Quantity", fields.bytes(wire)?)?);
            Value::String(quantity::canonical(&amount).map_err(|error| DecodeError(error.to_owned()))?)
        }
        Shape::IntOrString => int_or_string(fields.bytes(wire)?)?,
        Shape::FieldsV1 => {
            serde_json::from_slice(only_bytes("FieldsV1", fields.bytes(wire)?)?).unwrap_or_default()
        }
        Shape::Struct(inner) => decode(inner.get(), fields.bytes(wire)?)?,
        Shape::List(item) => Value::Array(vec![node(item, fields, wire)?]),
        Shape::Items(item) => {
            let mut items = Vec::new();
            let mut inner = Fields::new("items", fields.bytes(wire)?);
            while let Some((number, wire)) = inner.next_field()? {
                if number == 1 {
                    items.push(node(item, &inner, wire)?);
                }
            }
            Value::Array(items)
        }
        Shape::Map(value) => Value::Object(Map::from_iter([entry(value, fields.bytes(wire)?)?])),
    })
}

fn entry(of: &'static Node, bytes: &[u8]) -> Result<(String, Value), DecodeError> {
    let mut fields = Fields::new("entry", bytes);
    let (mut key, mut value) = (String::new(), None);
    while let Some((number, wire)) = fields.next_field()? {
        match number {
            1 => key = text(fields.bytes(wire)?),
            2 => value = Some(node(of, &fields, wire)?),
            _ => {}
        }
    }
    Ok((key, value.unwrap_or_else(|| of.zero_of_entry())))
}

/// Reads `Timestamp`. No bytes are Go's zero time.
fn moment(layout: Layout, bytes: &[u8]) -> Result<Value, DecodeError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut fields = Fields::new("Timestamp", bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => seconds = fields.int64(value)?,
            2 => nanos = fields.int32(value)?,
            _ => {}
        }
    }
    Ok(time::of_parts(layout, seconds, nanos))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, DecodeError> {
    let (mut is_text, mut int, mut content): (bool, i32, &[u8]) = (false, 0, &[]);
    let mut fields = Fields::new("IntOrString", bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => is_text = fields.int64(value)? != 0,
            2 => int = fields.int32(value)?,
            3 => content = fields.bytes(value)?,
            _ => {}
        }
    }
    Ok(if is_text { Value::String(text(content)) } else { Value::from(int) })
}

/// Reads the messages that have one field of bytes: `Quantity`, `FieldsV1`.
fn only_bytes<'a>(name: &'static str, bytes: &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let mut fields = Fields::new(name, bytes);
    let mut content: &[u8] = &[];
    while let Some((number, value)) = fields.next_field()? {
        if number == 1 {
            content = fields.bytes(value)?;
        }
    }
    Ok(content)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
