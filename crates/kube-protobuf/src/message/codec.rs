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

/// Implements [`Codec`] for a message: the number, the name and the form of each field, in ascending order; and the value of
/// an empty message, if it is not the default. Where it is used, `codec` and, for times, `time` are in scope.
macro_rules! message {
    ($message:ident { $($number:literal $field:ident: $form:ident,)+ }) => {
        codec::message!($message = Self::default() => { $($number $field: $form,)+ });
    };
    ($message:ident = $zero:expr => { $($number:literal $field:ident: $form:ident,)+ }) => {
        impl codec::Codec for $message {
            const NAME: &'static str = stringify!($message);

            fn zero() -> Self {
                $zero
            }

            fn merge_field(
                &mut self,
                number: u32,
                value: $crate::reader::Value<'_>,
                fields: &$crate::reader::Fields<'_>,
            ) -> Result<(), $crate::error::DecodeError> {
                match number {
                    $($number => codec::form!(merge $form, self.$field, fields, value),)+
                    _ => {}
                }
                Ok(())
            }

            fn write(&self, writer: &mut $crate::writer::Writer) {
                $(codec::form!(write $form, self.$field, writer, $number);)+
            }
        }
    };
}
pub(super) use message;

/// The forms of fields: how one is merged, and how it is written.
///
/// Fields that Go holds by value are always written: an empty `plain` one is absent, an empty `kept` one stays in Go's JSON. An
/// `optional` one is behind a pointer there, so that absent and empty differ.
#[rustfmt::skip]
macro_rules! form {
    (merge text, $field:expr, $fields:ident, $value:ident) => { $field = $fields.owned_text($value)? };
    (write text, $field:expr, $writer:ident, $number:literal) => { $writer.text($number, &$field) };
    (merge plain_text, $field:expr, $fields:ident, $value:ident) => { $field = codec::plain_text($fields, $value)? };
    (write plain_text, $field:expr, $writer:ident, $number:literal) => { $writer.plain_text($number, $field.as_deref()) };
    (merge kept_text, $field:expr, $fields:ident, $value:ident) => { $field = Some($fields.owned_text($value)?) };
    (write kept_text, $field:expr, $writer:ident, $number:literal) => { $writer.plain_text($number, $field.as_deref()) };
    (merge optional_text, $field:expr, $fields:ident, $value:ident) => { $field = Some($fields.owned_text($value)?) };
    (write optional_text, $field:expr, $writer:ident, $number:literal) => { $writer.optional_text($number, $field.as_deref()) };
    (merge texts, $field:expr, $fields:ident, $value:ident) => { codec::List::add(&mut $field, $fields.owned_text($value)?) };
    (write texts, $field:expr, $writer:ident, $number:literal) => { codec::write_texts($writer, $number, &$field) };
    (merge int32, $field:expr, $fields:ident, $value:ident) => { $field = $fields.int32($value)? };
    (write int32, $field:expr, $writer:ident, $number:literal) => { $writer.integer($number, $field) };
    (merge plain_int32, $field:expr, $fields:ident, $value:ident) => { $field = codec::plain($fields.int32($value)?) };
    (write plain_int32, $field:expr, $writer:ident, $number:literal) => { $writer.integer($number, $field.unwrap_or_default()) };
    (merge plain_int64, $field:expr, $fields:ident, $value:ident) => { $field = codec::plain($fields.int64($value)?) };
    (write plain_int64, $field:expr, $writer:ident, $number:literal) => { $writer.integer($number, $field.unwrap_or_default()) };
    (merge optional_int32, $field:expr, $fields:ident, $value:ident) => { $field = Some($fields.int32($value)?) };
    (write optional_int32, $field:expr, $writer:ident, $number:literal) => { codec::write_integer($writer, $number, $field) };
    (merge optional_int64, $field:expr, $fields:ident, $value:ident) => { $field = Some($fields.int64($value)?) };
    (write optional_int64, $field:expr, $writer:ident, $number:literal) => { codec::write_integer($writer, $number, $field) };
    (merge optional_bool, $field:expr, $fields:ident, $value:ident) => { $field = Some($fields.boolean($value)?) };
    (write optional_bool, $field:expr, $writer:ident, $number:literal) => { codec::write_integer($writer, $number, $field) };
    (merge message, $field:expr, $fields:ident, $value:ident) => { codec::Codec::merge(&mut $field, $fields.bytes($value)?)? };
    (write message, $field:expr, $writer:ident, $number:literal) => { codec::write($writer, $number, &$field) };
    (merge kept_message, $field:expr, $fields:ident, $value:ident) => { codec::merge_optional(&mut $field, $fields.bytes($value)?)? };
    (write kept_message, $field:expr, $writer:ident, $number:literal) => { codec::write_kept($writer, $number, $field.as_ref()) };
    (merge optional_message, $field:expr, $fields:ident, $value:ident) => { codec::merge_optional(&mut $field, $fields.bytes($value)?)? };
    (write optional_message, $field:expr, $writer:ident, $number:literal) => { codec::write_optional($writer, $number, $field.as_ref()) };
    (merge messages, $field:expr, $fields:ident, $value:ident) => { codec::push(&mut $field, $fields.bytes($value)?)? };
    (write messages, $field:expr, $writer:ident, $number:literal) => { codec::write_list($writer, $number, &$field) };
    (merge map, $field:expr, $fields:ident, $value:ident) => { codec::insert(&mut $field, $fields.bytes($value)?)? };
    (write map, $field:expr, $writer:ident, $number:literal) => { codec::write_map($writer, $number, $field.as_ref()) };
    (merge plain_time, $field:expr, $fields:ident, $value:ident) => { $field = time::read_time($fields.bytes($value)?)? };
    (write plain_time, $field:expr, $writer:ident, $number:literal) => { time::write_time($writer, $number, $field.as_ref()) };
    (merge optional_time, $field:expr, $fields:ident, $value:ident) => { $field = time::read_time($fields.bytes($value)?)? };
    (write optional_time, $field:expr, $writer:ident, $number:literal) => { if $field.is_some() { time::write_time($writer, $number, $field.as_ref()) } };
    (merge plain_micro_time, $field:expr, $fields:ident, $value:ident) => { $field = time::read_micro_time($fields.bytes($value)?)? };
    (write plain_micro_time, $field:expr, $writer:ident, $number:literal) => { time::write_micro_time($writer, $number, $field.as_ref()) };
    (merge optional_micro_time, $field:expr, $fields:ident, $value:ident) => { $field = time::read_micro_time($fields.bytes($value)?)? };
    (write optional_micro_time, $field:expr, $writer:ident, $number:literal) => { if $field.is_some() { time::write_micro_time($writer, $number, $field.as_ref()) } };
}
pub(super) use form;

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

/// An integer that Go holds by value: zero is absent.
pub(super) fn plain<T: Default + PartialEq>(value: T) -> Option<T> {
    Some(value).filter(|value| *value != T::default())
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
pub(super) fn write_kept<T: Codec>(writer: &mut Writer, number: u32, message: Option<&T>) {
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

/// Writes repeated text.
pub(super) fn write_texts(writer: &mut Writer, number: u32, list: &impl List<Element = String>) {
    for text in list.elements() {
        writer.text(number, text);
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
