//! Values that several views contain.

use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Fields;

/// Returns key and value of a map entry.
pub(super) fn map_entry(bytes: &[u8]) -> Result<(&[u8], &[u8]), DecodeError> {
    let (mut key, mut content) = (&b""[..], &b""[..]);
    let mut fields = Fields::new("map entry", bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => key = fields.bytes(value)?,
            2 => content = fields.bytes(value)?,
            _ => {}
        }
    }
    Ok((key, content))
}

/// Returns key and value of an entry in a map of strings.
pub(super) fn text_entry(bytes: &[u8]) -> Result<(&str, &str), DecodeError> {
    let (key, value) = map_entry(bytes)?;
    match (std::str::from_utf8(key), std::str::from_utf8(value)) {
        (Ok(key), Ok(value)) => Ok((key, value)),
        _ => Err(DecodeError::new(DecodeErrorKind::Utf8, "map entry", bytes.len())),
    }
}

/// Returns the text of a message that has no other field; `message` is its name.
pub(super) fn only_text<'a>(message: &'static str, bytes: &'a [u8]) -> Result<&'a str, DecodeError> {
    let mut text = "";
    let mut fields = Fields::new(message, bytes);
    while let Some((number, value)) = fields.next_field()? {
        if number == 1 {
            text = fields.text(value)?;
        }
    }
    Ok(text)
}

/// Returns a time in whole Unix seconds. Kubernetes writes an absent time as an empty message.
pub(crate) fn time_seconds(bytes: &[u8]) -> Result<Option<i64>, DecodeError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut seconds = 0;
    let mut fields = Fields::new("Time", bytes);
    while let Some((number, value)) = fields.next_field()? {
        if number == 1 {
            seconds = fields.int64(value)?;
        }
    }
    Ok(Some(seconds))
}

/// The fields of a condition that endpoints need, which `PodCondition` and `NodeCondition` number alike.
pub(super) struct Condition<'a> {
    pub(super) kind: &'a [u8],
    pub(super) is_true: bool,
    pub(super) last_transition: Option<i64>,
}

impl<'a> Condition<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut condition = Self { kind: b"", is_true: false, last_transition: None };
        let mut fields = Fields::new("condition", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => condition.kind = fields.bytes(value)?,
                2 => condition.is_true = fields.bytes(value)? == b"True",
                4 => condition.last_transition = time_seconds(fields.bytes(value)?)?,
                _ => {}
            }
        }
        Ok(condition)
    }
}
