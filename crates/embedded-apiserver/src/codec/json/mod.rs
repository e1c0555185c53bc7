//! JSON of any type of the schema, with the semantics of Go: `sigs.k8s.io/json` for decoding, `encoding/json` for encoding. Errors
//! about values have Go's words, those about syntax do not.

mod decode;
mod encode;
mod place;

use serde_json::Value;

pub(crate) use decode::{FieldValidation, decode};
pub(crate) use encode::{encode, encode_untyped};

use super::error::DecodeError;

/// Reads JSON of any type. Of a key that occurs twice, the last value counts.
/// Errors: the text is not JSON, or nests more than 127 levels.
pub(crate) fn parse(text: &[u8]) -> Result<Value, DecodeError> {
    serde_json::from_slice(text).map_err(|_| DecodeError("malformed JSON".to_owned()))
}

#[cfg(test)]
mod tests;
