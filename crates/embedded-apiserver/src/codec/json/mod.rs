//! JSON of any type of the schema, with the semantics of Go: `sigs.k8s.io/json` for decoding, `encoding/json` for encoding. Errors
//! about values have Go's words, those about syntax do not.

mod copy;
mod decode;
mod encode;
mod head;
mod place;
mod reader;
mod untyped;

use serde_json::Value;

pub(crate) use decode::decode;
pub(crate) use encode::{encode, encode_untyped};
pub(crate) use head::head;
pub(crate) use place::{FieldValidation, Problem};
pub(crate) use reader::MAX_DEPTH;
pub(crate) use untyped::untyped;

use crate::schema::Type;

pub(crate) use super::error::DecodeError;

/// The type of a value in the words of `encoding/json`.
pub(crate) fn json_type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Decodes a tree, such as the result of a patch, as if it were the body of a request.
///
/// Cost: a copy. A tree that does not fit its type is written and read as JSON, for Go's words about it.
///
/// # Errors
/// Those of [`decode`].
pub(crate) fn normalise(
    of: &'static Type,
    tree: &Value,
    validation: FieldValidation,
) -> Result<(Value, Vec<Problem>), DecodeError> {
    match copy::copy(of, tree) {
        Some(tree) => Ok((tree, Vec::new())),
        None => decode(of, tree.to_string().as_bytes(), validation),
    }
}

#[cfg(test)]
mod tests;
