//! What all messages share, top-level or nested.

use std::collections::BTreeMap;

use crate::error::DecodeError;
use crate::reader::{Fields, Value};
use crate::writer::Writer;

/// A message of which every field is known.
pub trait Part: Sized {
    /// The name, for errors.
    const NAME: &'static str;

    /// What no fields at all mean: Go's zero value, seen through JSON.
    fn zero() -> Self;

    /// Takes up one field; those of unknown number are dropped.
    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError>;

    /// Writes all fields, in ascending order.
    fn write(&self, writer: &mut Writer);

    /// Takes up all fields of an encoded message.
    fn merge(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new(Self::NAME, bytes);
        while let Some((number, value)) = fields.next_field()? {
            self.merge_field(number, value, &fields)?;
        }
        Ok(())
    }
}

/// Reads a message.
pub(super) fn read<T: Part>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut part = T::zero();
    part.merge(bytes)?;
    Ok(part)
}

/// Reads a message that may be absent; if there already is one, they merge.
pub(super) fn merge_optional<T: Part>(part: &mut Option<T>, bytes: &[u8]) -> Result<(), DecodeError> {
    part.get_or_insert_with(T::zero).merge(bytes)
}

/// Reads one more of a repeated message.
pub(super) fn push<T: Part>(list: &mut Option<Vec<T>>, bytes: &[u8]) -> Result<(), DecodeError> {
    list.get_or_insert_default().push(read(bytes)?);
    Ok(())
}

/// Text that Go holds by value: empty is absent.
pub(super) fn plain_text(fields: &Fields<'_>, value: Value<'_>) -> Result<Option<String>, DecodeError> {
    fields.owned_text(value).map(|text| Some(text).filter(|text| !text.is_empty()))
}

/// An int32 that Go holds by value: zero is absent.
pub(super) fn plain_int32(fields: &Fields<'_>, value: Value<'_>) -> Result<Option<i32>, DecodeError> {
    fields.int32(value).map(|value| Some(value).filter(|value| *value != 0))
}

/// Reads one more entry of a map of strings.
pub(super) fn insert(map: &mut Option<BTreeMap<String, String>>, bytes: &[u8]) -> Result<(), DecodeError> {
    let (mut key, mut content) = (String::new(), String::new());
    let mut fields = Fields::new("map entry", bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => key = fields.owned_text(value)?,
            2 => content = fields.owned_text(value)?,
            _ => {}
        }
    }
    map.get_or_insert_default().insert(key, content);
    Ok(())
}

/// Writes a nested message.
pub(super) fn write<T: Part>(writer: &mut Writer, number: u32, part: &T) {
    let open = writer.open(number);
    part.write(writer);
    writer.close(open);
}

/// Writes a nested message that may be absent.
pub(super) fn write_optional<T: Part>(writer: &mut Writer, number: u32, part: Option<&T>) {
    if let Some(part) = part {
        write(writer, number, part);
    }
}

/// Writes a nested message that Go holds by value: absent is empty.
pub(super) fn write_plain<T: Part>(writer: &mut Writer, number: u32, part: Option<&T>) {
    match part {
        Some(part) => write(writer, number, part),
        None => write(writer, number, &T::zero()),
    }
}

/// Writes a repeated message.
pub(super) fn write_list<T: Part>(writer: &mut Writer, number: u32, list: Option<&Vec<T>>) {
    for part in list.into_iter().flatten() {
        write(writer, number, part);
    }
}

/// Writes a map of strings.
pub(super) fn write_map(writer: &mut Writer, number: u32, map: Option<&BTreeMap<String, String>>) {
    for (key, value) in map.into_iter().flatten() {
        let entry = writer.open(number);
        writer.text(1, key);
        writer.text(2, value);
        writer.close(entry);
    }
}

/// Writes an integer that may be absent.
pub(super) fn write_integer(writer: &mut Writer, number: u32, value: Option<impl Into<i64>>) {
    if let Some(value) = value {
        writer.integer(number, value);
    }
}
