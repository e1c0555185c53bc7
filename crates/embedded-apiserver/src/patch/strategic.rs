//! Strategic merge patch: merge patch with lists that are merged by a key, as the types of the API declare.
//!
//! Source: apimachinery `util/strategicpatch`, without the words of its errors. Where upstream follows the random order of a map, this follows
//! the order of the keys.

mod directives;
mod items;
mod lookup;
mod merge;
mod order;

use serde_json::Value;

use super::refusal::unprocessable;
use crate::schema::Type;
use crate::status::Status;

use merge::merge_map;

/// The object with a strategic merge patch applied. The patch loses the directives that were followed, as in upstream, whose
/// errors about the result show it.
/// Errors: 422 if it cannot be applied.
pub(crate) fn strategic(of: &'static Type, original: &Value, patch: &mut Value) -> Result<Value, Status> {
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else {
        return Err(unprocessable());
    };
    merge_map(original.clone(), patch, Some(of)).map(Value::Object).ok_or_else(unprocessable)
}
