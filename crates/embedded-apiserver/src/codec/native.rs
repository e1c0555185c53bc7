//! Protobuf forms of the types with an encoding of their own.

use kube_protobuf::{DecodeError, Fields};

use super::time::{Moment, ZERO_SECONDS};

/// The years 0 to 9999 in seconds since 1970: what RFC 3339 can express. Other times are brought into this range.
const SECONDS: std::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

/// Reads `Timestamp`. No bytes are Go's zero time.
pub(super) fn timestamp(bytes: &[u8]) -> Result<Moment, DecodeError> {
    if bytes.is_empty() {
        return Ok(Moment::ZERO);
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
    let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000).unwrap_or(0);
    Ok(Moment { seconds: seconds.clamp(*SECONDS.start(), *SECONDS.end()), nanos })
}

/// `IntOrString`.
pub(super) enum IntOrString<'a> {
    Int(i32),
    Text(&'a [u8]),
}

/// Reads `IntOrString`.
pub(super) fn int_or_string(bytes: &[u8]) -> Result<IntOrString<'_>, DecodeError> {
    let (mut is_text, mut int, mut text): (bool, i32, &[u8]) = (false, 0, &[]);
    let mut fields = Fields::new("IntOrString", bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => is_text = fields.int64(value)? != 0,
            2 => int = fields.int32(value)?,
            3 => text = fields.bytes(value)?,
            _ => {}
        }
    }
    Ok(if is_text { IntOrString::Text(text) } else { IntOrString::Int(int) })
}

/// Reads the messages that have one field of bytes: `Quantity`, `FieldsV1`, `RawExtension`.
pub(super) fn only_bytes<'a>(name: &'static str, bytes: &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let mut fields = Fields::new(name, bytes);
    let mut content: &[u8] = &[];
    while let Some((number, value)) = fields.next_field()? {
        if number == 1 {
            content = fields.bytes(value)?;
        }
    }
    Ok(content)
}

const _: () = assert!(ZERO_SECONDS >= *SECONDS.start());
