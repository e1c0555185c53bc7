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
/// Cost: two passes over the bytes of each message; one allocation besides the growth of `out`.
///
/// # Errors
/// The bytes are no message of this type; `out` is then incomplete.
pub(crate) fn to_json(
    of: &'static Type,
    bytes: &[u8],
    head: Option<(&str, &str)>,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let mut printer = Printer { out, slots: Vec::with_capacity(2 * MAX_FIELDS) };
    printer.out.push(b'{');
    let start = printer.out.len();
    if let Some((api_version, kind)) = head {
        printer.out.extend_from_slice(b"\"kind\":");
        text::write_str(printer.out, kind);
        printer.out.extend_from_slice(b",\"apiVersion\":");
        text::write_str(printer.out, api_version);
    }
    printer.members(of, bytes, start)?;
    printer.out.push(b'}');
    Ok(())
}

/// The place of a field's value.
#[derive(Clone, Copy)]
enum Slot<'a> {
    Absent,
    /// One value.
    One(Wire<'a>),
    /// The message from the first occurrence of a repeated field on, and its number.
    Many(&'a [u8], u32),
}

/// Writes messages, each in two passes: where its fields are, then their values.
struct Printer<'a, 'out> {
    out: &'out mut Vec<u8>,
    /// The fields of all messages that are being written, those of the innermost message at the end.
    slots: Vec<Slot<'a>>,
}

fn is_repeated(of: &Node) -> bool {
    matches!(of.shape, Shape::List(_) | Shape::Map(_))
}

impl<'a> Printer<'a, '_> {
    fn object(&mut self, of: &'static Type, bytes: &'a [u8]) -> Result<(), DecodeError> {
        self.out.push(b'{');
        self.members(of, bytes, self.out.len())?;
        self.out.push(b'}');
        Ok(())
    }

    /// Writes the members of an object that begins at `start`.
    fn members(&mut self, of: &'static Type, bytes: &'a [u8], start: usize) -> Result<(), DecodeError> {
        let base = self.slots.len();
        self.slots.resize(base + of.fields.len(), Slot::Absent);
        self.collect(of, &of.message, bytes, base)?;
        for (position, field) in of.fields.iter().enumerate() {
            let slot = self.slots.get(base + position).copied().unwrap_or(Slot::Absent);
            if skips(field, slot) {
                continue;
            }
            if self.out.len() > start {
                self.out.push(b',');
            }
            self.out.extend_from_slice(field.key.as_bytes());
            self.slot(&field.node, slot)?;
        }
        self.slots.truncate(base);
        Ok(())
    }

    /// Finds the fields of a message.
    fn collect(
        &mut self,
        of: &'static Type,
        message: &'static Message,
        bytes: &'a [u8],
        base: usize,
    ) -> Result<(), DecodeError> {
        let mut fields = Fields::new(message.name, bytes);
        let mut offset = 0;
        while let Some((number, wire)) = fields.next_field()? {
            match message.entry(number).map(|Entry { part, .. }| part) {
                None => {}
                Some(Part::Inlined(inner)) => self.collect(of, inner, fields.bytes(wire)?, base)?,
                Some(Part::Field(position)) => {
                    let repeated = of.fields.get(*position).is_some_and(|field| is_repeated(&field.node));
                    match self.slots.get_mut(base + position) {
                        None | Some(Slot::Many(..)) => {}
                        Some(slot) if repeated => {
                            *slot = Slot::Many(bytes.get(offset..).unwrap_or_default(), number);
                        }
                        Some(slot) => *slot = Slot::One(wire),
                    }
                }
            }
            offset = fields.offset();
        }
        Ok(())
    }

    fn slot(&mut self, of: &'static Node, slot: Slot<'a>) -> Result<(), DecodeError> {
        match (slot, &of.shape) {
            (Slot::One(wire), _) => self.value(of, wire),
            (Slot::Many(rest, number), Shape::List(item)) => self.items(item, rest, number),
            (Slot::Many(rest, number), Shape::Map(item)) => self.entries(item, rest, number),
            (Slot::Absent | Slot::Many(..), _) => {
                self.out.extend_from_slice(of.zero().to_string().as_bytes());
                Ok(())
            }
        }
    }

    fn value(&mut self, of: &'static Node, wire: Wire<'a>) -> Result<(), DecodeError> {
        let fields = Fields::new("value", &[]);
        match &of.shape {
            Shape::String => text::write_bytes(self.out, fields.bytes(wire)?),
            Shape::Bool => self.out.extend_from_slice(if fields.boolean(wire)? { b"true" } else { b"false" }),
            Shape::Int32 => number(self.out, i64::from(fields.int32(wire)?)),
            Shape::Int64 => number(self.out, fields.int64(wire)?),
            Shape::Time => moment(Layout::Seconds, fields.bytes(wire)?, self.out)?,
            Shape::MicroTime => moment(Layout::Micros, fields.bytes(wire)?, self.out)?,
            Shape::Quantity => {
                text::write_bytes(self.out, native::only_bytes("Quantity", fields.bytes(wire)?)?)
            }
            Shape::IntOrString => match native::int_or_string(fields.bytes(wire)?)? {
                IntOrString::Int(int) => number(self.out, i64::from(int)),
                IntOrString::Text(bytes) => text::write_bytes(self.out, bytes),
            },
            Shape::FieldsV1 | Shape::RawExtension => {
                let json = native::only_bytes("FieldsV1", fields.bytes(wire)?)?;
                text::write_json(self.out, if json.is_empty() { b"null" } else { json });
            }
            Shape::Struct(inner) => self.object(inner.get(), fields.bytes(wire)?)?,
            Shape::Items(item) => match fields.bytes(wire)? {
                [] => self.out.extend_from_slice(b"[]"),
                bytes => self.items(item, bytes, 1)?,
            },
            // lists of lists do not exist in protobuf
            Shape::List(_) | Shape::Map(_) => self.out.extend_from_slice(b"null"),
        }
        Ok(())
    }

    /// Writes the occurrences of a repeated field as a list.
    fn items(&mut self, of: &'static Node, bytes: &'a [u8], number: u32) -> Result<(), DecodeError> {
        let mut fields = Fields::new("items", bytes);
        let mut separator = b'[';
        while let Some((found, wire)) = fields.next_field()? {
            if found != number {
                // repeated fields are written in one piece
                break;
            }
            self.out.push(separator);
            separator = b',';
            self.value(of, wire)?;
        }
        if separator == b'[' {
            // no items: as Go prints a nil slice
            self.out.extend_from_slice(b"null");
        } else {
            self.out.push(b']');
        }
        Ok(())
    }

    /// Writes the entries of a map, which are sorted by key.
    fn entries(&mut self, of: &'static Node, bytes: &'a [u8], number: u32) -> Result<(), DecodeError> {
        let mut fields = Fields::new("entries", bytes);
        let mut separator = b'{';
        while let Some((found, wire)) = fields.next_field()? {
            if found != number {
                break;
            }
            self.out.push(separator);
            separator = b',';
            self.entry(of, fields.bytes(wire)?)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn entry(&mut self, of: &'static Node, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new("entry", bytes);
        let (mut key, mut content): (&[u8], _) = (&[], None);
        while let Some((number, wire)) = fields.next_field()? {
            match number {
                1 => key = fields.bytes(wire)?,
                2 => content = Some(wire),
                _ => {}
            }
        }
        text::write_bytes(self.out, key);
        self.out.push(b':');
        if let Some(wire) = content {
            return self.value(of, wire);
        }
        self.out.extend_from_slice(of.zero_of_entry().to_string().as_bytes());
        Ok(())
    }
}

/// True if Go's encoder leaves out the field.
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
    if let Ok(digit @ 0..=9) = u8::try_from(value) {
        return out.push(b'0' + digit);
    }
    // a Vec accepts all bytes
    let _ = write!(out, "{value}");
}
