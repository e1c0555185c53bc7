//! Codecs of messages, top-level and nested.

use std::collections::BTreeMap;

use crate::error::DecodeError;
use crate::reader::{Fields, Value};
use crate::writer::Writer;

/// A message with a full codec.
pub trait Codec: Sized {
    /// The name of the message for errors.
    const NAME: &'static str;

    /// Returns the value of an empty message: Go's zero value, as its JSON is read.
    fn zero() -> Self;

    /// Merges one field. Unknown fields are dropped.
    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError>;

    /// Writes all fields, in ascending order.
    fn write(&self, writer: &mut Writer);

    /// Merges all fields of an encoded message.
    fn merge(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new(Self::NAME, bytes);
        while let Some((number, value)) = fields.next_field()? {
            self.merge_field(number, value, &fields)?;
        }
        Ok(())
    }
}

/// A repeated message, as `k8s-openapi` has it: optional, or required. Which of them `EndpointSlice::endpoints` is depends on
/// the version of Kubernetes.
pub(super) trait List {
    /// The message.
    type Element;

    /// All elements.
    fn elements(&self) -> &[Self::Element];

    /// Adds an element at the end.
    fn add(&mut self, element: Self::Element);
}

impl<T> List for Option<Vec<T>> {
    type Element = T;

    fn elements(&self) -> &[T] {
        self.as_deref().unwrap_or_default()
    }

    fn add(&mut self, element: T) {
        self.get_or_insert_default().push(element);
    }
}

impl<T> List for Vec<T> {
    type Element = T;

    fn elements(&self) -> &[T] {
        self
    }

    fn add(&mut self, element: T) {
        self.push(element);
    }
}

/// Reads a message.
pub(crate) fn read<T: Codec>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut message = T::zero();
    message.merge(bytes)?;
    Ok(message)
}

/// Reads an optional message, and merges it into an existing one.
pub(super) fn merge_optional<T: Codec>(message: &mut Option<T>, bytes: &[u8]) -> Result<(), DecodeError> {
    message.get_or_insert_with(T::zero).merge(bytes)
}

/// Reads an element of a repeated message.
pub(super) fn push<L: List<Element: Codec>>(list: &mut L, bytes: &[u8]) -> Result<(), DecodeError> {
    list.add(read(bytes)?);
    Ok(())
}

/// Reads text that Go holds by value: empty is absent.
pub(super) fn plain_text(fields: &Fields<'_>, value: Value<'_>) -> Result<Option<String>, DecodeError> {
    fields.owned_text(value).map(|text| Some(text).filter(|text| !text.is_empty()))
}

/// Reads an int32 that Go holds by value: zero is absent.
pub(super) fn plain_int32(fields: &Fields<'_>, value: Value<'_>) -> Result<Option<i32>, DecodeError> {
    fields.int32(value).map(|value| Some(value).filter(|value| *value != 0))
}

/// Reads an entry of a map of strings.
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
pub(super) fn write<T: Codec>(writer: &mut Writer, number: u32, message: &T) {
    let open = writer.open(number);
    message.write(writer);
    writer.close(open);
}

/// Writes an optional nested message.
pub(super) fn write_optional<T: Codec>(writer: &mut Writer, number: u32, message: Option<&T>) {
    if let Some(message) = message {
        write(writer, number, message);
    }
}

/// Writes a nested message that Go holds by value: absent is written as empty.
pub(super) fn write_plain<T: Codec>(writer: &mut Writer, number: u32, message: Option<&T>) {
    match message {
        Some(message) => write(writer, number, message),
        None => write(writer, number, &T::zero()),
    }
}

/// Writes a repeated message.
pub(super) fn write_list<L: List<Element: Codec>>(writer: &mut Writer, number: u32, list: &L) {
    for message in list.elements() {
        write(writer, number, message);
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

/// Writes an optional integer.
pub(super) fn write_integer(writer: &mut Writer, number: u32, value: Option<impl Into<i64>>) {
    if let Some(value) = value {
        writer.integer(number, value);
    }
}
