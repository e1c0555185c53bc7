//! Encodings of YAML.

use std::borrow::Cow;

use crate::codec::error::DecodeError;

/// A body in UTF-8: one with the byte order mark of UTF-16 is converted.
///
/// # Errors
/// Half a character, in the words of go-yaml.
pub(super) fn utf8(body: &[u8]) -> Result<Cow<'_, [u8]>, DecodeError> {
    let (rest, unit): (_, fn([u8; 2]) -> u16) = match body {
        [0xff, 0xfe, rest @ ..] => (rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => (rest, u16::from_be_bytes),
        _ => return Ok(Cow::Borrowed(body)),
    };
    let wrong = |problem: &str| DecodeError(format!("yaml: {problem}"));
    let (units, half) = rest.as_chunks::<2>();
    if !half.is_empty() {
        return Err(wrong("incomplete UTF-16 character"));
    }
    let letters = char::decode_utf16(units.iter().map(|bytes| unit(*bytes)));
    let text: Result<String, _> = letters.collect();
    text.map(|text| Cow::Owned(text.into_bytes())).map_err(|_| wrong("unexpected low surrogate area"))
}
