//! JSON of any type of the schema, with the semantics and error texts of Go: `sigs.k8s.io/json` for decoding,
//! `encoding/json` for encoding.

mod decode;
mod encode;
mod head;
mod place;
mod reader;
mod syntax;

use serde_json::Value;

pub(crate) use decode::decode;
pub(crate) use encode::{encode, encode_untyped};
pub(crate) use head::{Head, head};
pub(crate) use place::{FieldValidation, Problem};
pub(crate) use syntax::error as syntax_error;

use crate::schema::Type;

pub(crate) use super::error::DecodeError;

/// Decodes a tree, such as the result of a patch, as if it were the body of a request.
///
/// Cost: writes and reads it as JSON.
///
/// # Errors
/// Those of [`decode`].
pub(crate) fn normalise(
    of: &'static Type,
    tree: &Value,
    validation: FieldValidation,
) -> Result<(Value, Vec<Problem>), DecodeError> {
    decode(of, tree.to_string().as_bytes(), validation)
}

#[cfg(test)]
mod tests;
