//! Stored protobuf to JSON without a tree.

use std::io::Write as _;

use kube_protobuf::{DecodeError, Fields, Value as Wire};

use crate::codec::native::{self, IntOrString};
use crate::codec::text;
use crate::codec::time::{self, Layout};
use crate::schema::{Entry, Field, MAX_FIELDS, Message, Node, Part, Shape, Type};

/// Appends the JSON of an object, as Go's encoder prints it: fields in the order of the struct, characters of HTML escaped,
/// no line feed at the end.
///
/// `head` is `apiVersion` and `kind`, which single objects and watch events have and items of lists have not.
///
/// The bytes are those of [`encode`](super::encode): in messages that others wrote, the last occurrence of a struct counts.
///
/// Cost: two passes over the bytes of each message, and no allocation besides the growth of `out`.
///
/// # Errors
/// The bytes are no message of this type; `out` is then incomplete.
pub(crate) fn to_json(
    of: &'static Type,
    bytes: &[u8],
    head: Option<(&str, &str)>,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    out.push(b'{');
    let start = out.len();
    if let Some((api_version, kind)) = head {
        out.extend_from_slice(b"\"kind\":");
        text::write_str(out, kind);
        out.extend_from_slice(b",\"apiVersion\":");
        text::write_str(out, api_version);
    }
    members(of, bytes, out, start)?;
    out.push(b'}');
    Ok(())
}

/// Where the value of a field is.
#[derive(Clone, Copy)]
enum Slot<'a> {
    Absent,
    /// One value.
    One(Wire<'a>),
    /// The message from the first occurrence of a repeated field on, and its number.
    Many(&'a [u8], u32),
}

fn object(of: &'static Type, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    out.push(b'{');
    let start = out.len();
    members(of, bytes, out, start)?;
    out.push(b'}');
    Ok(())
}

fn members(of: &'static Type, bytes: &[u8], out: &mut Vec<u8>, start: usize) -> Result<(), DecodeError> {
    let mut slots = [Slot::Absent; MAX_FIELDS];
    collect(of, &of.message, bytes, &mut slots)?;
    for (field, slot) in of.fields.iter().zip(&slots) {
        member(field, *slot, out, start)?;
    }
    Ok(())
}

fn collect<'a>(
    of: &'static Type,
    message: &'static Message,
    bytes: &'a [u8],
    slots: &mut [Slot<'a>; MAX_FIELDS],
) -> Result<(), DecodeError> {
    let mut fields = Fields::new(message.name, bytes);
    let mut offset = 0;
    while let Some((number, wire)) = fields.next_field()? {
        match message.entry(number).map(|Entry { part, .. }| part) {
            None => {}
            Some(Part::Inlined(inner)) => collect(of, inner, fields.bytes(wire)?, slots)?,
            Some(Part::Field(position)) => {
                let repeated = of.fields.get(*position).is_some_and(|field| is_repeated(&field.node));
                if let Some(slot) = slots.get_mut(*position) {
                    *slot = match *slot {
                        Slot::Many(..) => *slot,
                        _ if repeated => Slot::Many(bytes.get(offset..).unwrap_or_default(), number),
                        _ => Slot::One(wire),
                    };
                }
            }
        }
        offset = fields.offset();
    }
    Ok(())
}

fn is_repeated(of: &Node) -> bool {
    matches!(of.shape, Shape::List(_) | Shape::Map(_))
}

/// Writes a field with its name, unless it is left out.
fn member(field: &'static Field, slot: Slot<'_>, out: &mut Vec<u8>, start: usize) -> Result<(), DecodeError> {
    if skips(field, slot) {
        return Ok(());
    }
    if out.len() > start {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(field.json.as_bytes());
    out.extend_from_slice(b"\":");
    match slot {
        Slot::Absent => {
            out.extend_from_slice(field.node.zero().to_string().as_bytes());
            Ok(())
        }
        Slot::One(wire) => value(&field.node, wire, out),
        Slot::Many(rest, number) => match &field.node.shape {
            Shape::List(item) => items(item, rest, number, out),
            Shape::Map(item) => entries(item, rest, number, out),
            _ => Ok(()),
        },
    }
}

/// Whether Go's encoder leaves out the field.
fn skips(field: &Field, slot: Slot<'_>) -> bool {
    let zero = match slot {
        Slot::Absent => true,
        Slot::One(Wire::Varint(bits)) => bits == 0 && !field.node.pointer,
        // zero times have no bytes
        Slot::One(Wire::Bytes(bytes)) => bytes.is_empty() && !field.node.pointer,
        Slot::One(_) | Slot::Many(..) => false,
    };
    if !zero {
        return false;
    }
    if field.omitzero {
        return true;
    }
    let never_empty = matches!(
        field.node.shape,
        Shape::Struct(_)
            | Shape::Time
            | Shape::MicroTime
            | Shape::Quantity
            | Shape::IntOrString
            | Shape::RawExtension
    );
    field.omitempty && (field.node.pointer || !never_empty)
}

fn value(of: &'static Node, wire: Wire<'_>, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let fields = Fields::new("value", &[]);
    match &of.shape {
        Shape::String => text::write_bytes(out, fields.bytes(wire)?),
        Shape::Bool => out.extend_from_slice(if fields.boolean(wire)? { b"true" } else { b"false" }),
        Shape::Int32 => number(out, i64::from(fields.int32(wire)?)),
        Shape::Int64 => number(out, fields.int64(wire)?),
        Shape::Time => moment(Layout::Seconds, fields.bytes(wire)?, out)?,
        Shape::MicroTime => moment(Layout::Micros, fields.bytes(wire)?, out)?,
        Shape::Quantity => text::write_bytes(out, native::only_bytes("Quantity", fields.bytes(wire)?)?),
        Shape::IntOrString => match native::int_or_string(fields.bytes(wire)?)? {
            IntOrString::Int(int) => number(out, i64::from(int)),
            IntOrString::Text(bytes) => text::write_bytes(out, bytes),
        },
        Shape::FieldsV1 | Shape::RawExtension => {
            let json = native::only_bytes("FieldsV1", fields.bytes(wire)?)?;
            text::write_json(out, if json.is_empty() { b"null" } else { json });
        }
        Shape::Struct(inner) => object(inner.get(), fields.bytes(wire)?, out)?,
        Shape::Items(item) => match fields.bytes(wire)? {
            [] => out.extend_from_slice(b"[]"),
            bytes => items(item, bytes, 1, out)?,
        },
        // lists of lists do not exist in protobuf
        Shape::List(_) | Shape::Map(_) => out.extend_from_slice(b"null"),
    }
    Ok(())
}

/// Writes the occurrences of a repeated field as a list.
fn items(of: &'static Node, bytes: &[u8], number: u32, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut fields = Fields::new("items", bytes);
    let mut separator = b'[';
    while let Some((found, wire)) = fields.next_field()? {
        if found == number {
            out.push(separator);
            value(of, wire, out)?;
            separator = b',';
        } else if separator == b',' {
            // repeated fields are written in one piece
            break;
        }
    }
    if separator == b'[' {
        // no items: as Go prints a nil slice
        out.extend_from_slice(b"null");
    } else {
        out.push(b']');
    }
    Ok(())
}

/// Writes the entries of a map, which are sorted by key.
fn entries(of: &'static Node, bytes: &[u8], number: u32, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut fields = Fields::new("entries", bytes);
    let mut separator = b'{';
    while let Some((found, wire)) = fields.next_field()? {
        if found != number {
            break;
        }
        out.push(separator);
        separator = b',';
        entry(of, fields.bytes(wire)?, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn entry(of: &'static Node, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut fields = Fields::new("entry", bytes);
    let (mut key, mut content): (&[u8], _) = (&[], None);
    while let Some((number, wire)) = fields.next_field()? {
        match number {
            1 => key = fields.bytes(wire)?,
            2 => content = Some(wire),
            _ => {}
        }
    }
    text::write_bytes(out, key);
    out.push(b':');
    if let Some(wire) = content {
        return value(of, wire, out);
    }
    out.extend_from_slice(of.zero_of_entry().to_string().as_bytes());
    Ok(())
}

fn moment(layout: Layout, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let moment = native::timestamp(bytes)?.rounded(layout);
    if moment.is_zero() {
        out.extend_from_slice(b"null");
    } else {
        out.push(b'"');
        time::write(layout, moment, out);
        out.push(b'"');
    }
    Ok(())
}

fn number(out: &mut Vec<u8>, value: i64) {
    // a Vec accepts all bytes
    let _ = write!(out, "{value}");
}
