//! Strategic merge patch: merge patch with lists that are merged by a key, as the types of the API declare.
//!
//! Source: apimachinery `util/strategicpatch`, with its errors. Where upstream follows the random order of a map, this follows
//! the order of the keys.

mod directives;
mod failure;
mod items;
mod lookup;
mod merge;
mod order;

use serde_json::Value;

use crate::schema::Type;
use crate::status::Status;

use failure::Failure;
use lookup::Place;
use merge::merge_map;

/// The object with a strategic merge patch applied. The patch loses the directives that were followed, as in upstream, whose
/// errors about the result show it.
/// Errors: 400 or 422 if a directive is malformed; 500, as upstream, for other errors in the patch.
pub(crate) fn strategic(of: &'static Type, original: &Value, patch: &mut Value) -> Result<Value, Status> {
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else {
        return Err(Status::bad_request("invalid JSON document"));
    };
    let merged = merge_map(original.clone(), patch, Place::Struct(of)).map_err(Failure::into_status)?;
    Ok(Value::Object(merged))
}
