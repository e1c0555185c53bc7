//! JSON of any type of the schema, with the semantics of Go: `sigs.k8s.io/json` for decoding, `encoding/json` for encoding.

mod decode;
mod encode;
mod place;

use serde_json::Value;

pub(crate) use decode::decode;
pub(crate) use encode::{encode, encode_untyped};
pub(crate) use place::{FieldValidation, json_type_of};

pub(crate) use super::error::DecodeError;

/// Objects and arrays are nested no deeper, as `serde_json` has it. Go's limit is 10,000.
pub(crate) const MAX_DEPTH: usize = 127;

/// A body as a tree of no type. Of duplicate fields, the last one counts.
pub(crate) fn parse(body: &[u8]) -> Result<Value, DecodeError> {
    serde_json::from_slice(body).map_err(|error| {
        let text = if error.is_eof() { "unexpected end of JSON input".to_owned() } else { error.to_string() };
        DecodeError(text)
    })
}

#[cfg(test)]
mod tests;
