//! Decoding of the protobuf wire format, field by field.

use crate::error::{DecodeError, DecodeErrorKind};

/// The fields of one message, in their order on the wire.
///
/// Nothing is copied or decoded in advance: a nested message is a [`Value::Bytes`], which is skipped at the same cost
/// whether it has ten bytes or a megabyte.
///
/// ```
/// use kube_protobuf::{Fields, Value};
///
/// let mut fields = Fields::new("PodIP", b"\x0a\x0810.0.0.7");
/// assert_eq!(fields.next_field()?, Some((1, Value::Bytes(b"10.0.0.7"))));
/// assert_eq!(fields.next_field()?, None);
/// # Ok::<(), kube_protobuf::DecodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
    length: usize,
    message: &'static str,
}

/// The value of a field by wire type. The schema determines the meaning of a varint or of bytes; [`Fields::text`],
/// [`Fields::int32`] and similar methods apply it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Wire type 0: integers, enums, booleans.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2: strings, bytes, nested messages, map entries.
    Bytes(&'a [u8]),
    /// Wire type 5.
    Fixed32(u32),
}

const MAX_VARINT_BYTES: usize = 10;

impl<'a> Fields<'a> {
    /// Creates a reader of a message; `message` is its name for errors.
    pub const fn new(message: &'static str, bytes: &'a [u8]) -> Self {
        Self { rest: bytes, length: bytes.len(), message }
    }

    /// Returns number and value of the next field; `None` at the end.
    ///
    /// After an error, the following fields cannot be located.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured: a scan takes a quarter fewer instructions")]
    pub fn next_field(&mut self) -> Result<Option<(u32, Value<'a>)>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        // a key of more than 32 bits would be a field number of more than 29
        let Ok(key) = u32::try_from(self.varint()?) else {
            return Err(self.error(DecodeErrorKind::FieldNumber));
        };
        let number = key >> 3;
        if number == 0 {
            return Err(self.error(DecodeErrorKind::FieldNumber));
        }
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            2 => Value::Bytes(self.take_delimited()?),
            wire_type => self.rare_value(wire_type)?,
        };
        Ok(Some((number, value)))
    }

    /// Returns number and value of the next field, and all its bytes including the key.
    pub(crate) fn next_with_source(&mut self) -> Result<Option<(u32, Value<'a>, &'a [u8])>, DecodeError> {
        let before = self.rest;
        let Some((number, value)) = self.next_field()? else { return Ok(None) };
        let source = before.get(..before.len() - self.rest.len()).unwrap_or_default();
        Ok(Some((number, value, source)))
    }

    /// Returns the number of bytes that were read.
    pub const fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    /// Returns a value declared as bytes, message or map.
    #[inline]
    pub fn bytes(&self, value: Value<'a>) -> Result<&'a [u8], DecodeError> {
        match value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.error(DecodeErrorKind::UnexpectedType)),
        }
    }

    /// Returns a value declared as string.
    #[inline]
    pub fn text(&self, value: Value<'a>) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.bytes(value)?).map_err(|_| self.error(DecodeErrorKind::Utf8))
    }

    /// Returns a value declared as string, with replacement characters for invalid UTF-8, as in the JSON of the API server.
    pub(crate) fn owned_text(&self, value: Value<'a>) -> Result<String, DecodeError> {
        Ok(String::from_utf8_lossy(self.bytes(value)?).into_owned())
    }

    /// Returns a value declared as int64.
    #[inline]
    pub fn int64(&self, value: Value<'a>) -> Result<i64, DecodeError> {
        match value {
            Value::Varint(bits) => Ok(bits.cast_signed()),
            _ => Err(self.error(DecodeErrorKind::UnexpectedType)),
        }
    }

    /// Returns a value declared as int32: the lower 32 bits of the varint, as in all implementations.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "protobuf defines int32 as the lower 32 bits")]
    pub fn int32(&self, value: Value<'a>) -> Result<i32, DecodeError> {
        self.int64(value).map(|value| value as i32)
    }

    /// Returns a value declared as bool.
    #[inline]
    pub fn boolean(&self, value: Value<'a>) -> Result<bool, DecodeError> {
        self.int64(value).map(|value| value != 0)
    }

    /// Returns an error at the current offset.
    #[cold]
    #[inline(never)]
    pub(crate) const fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError::new(kind, self.message, self.offset())
    }

    /// Reads wire types that Kubernetes does not use. Out of line, so that `next_field` can be inlined.
    #[cold]
    fn rare_value(&mut self, wire_type: u32) -> Result<Value<'a>, DecodeError> {
        match wire_type {
            1 => Ok(Value::Fixed64(u64::from_le_bytes(self.take_array()?))),
            5 => Ok(Value::Fixed32(u32::from_le_bytes(self.take_array()?))),
            _ => Err(self.error(DecodeErrorKind::WireType)),
        }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, DecodeError> {
        match self.rest.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, DecodeError> {
        // lengths of 128 to 16,383 bytes
        if let [low, high, rest @ ..] = self.rest
            && *high < 0x80
        {
            self.rest = rest;
            return Ok(u64::from(*low & 0x7f) | u64::from(*high) << 7);
        }
        let mut value = 0;
        for (index, &byte) in self.rest.iter().take(MAX_VARINT_BYTES).enumerate() {
            if index + 1 == MAX_VARINT_BYTES && byte > 1 {
                return Err(self.error(DecodeErrorKind::VarintOverflow));
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.rest = self.rest.get(index + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(self.error(DecodeErrorKind::Truncated))
    }

    #[inline]
    fn take_delimited(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.varint()?;
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (bytes, rest) = split.ok_or_else(|| self.error(DecodeErrorKind::Truncated))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn take_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (array, rest) =
            self.rest.split_first_chunk().ok_or_else(|| self.error(DecodeErrorKind::Truncated))?;
        self.rest = rest;
        Ok(*array)
    }
}

#[cfg(test)]
mod tests;
