//! Of JSON patch (RFC 6902), the operation that kubectl sends: it hands the fields of client-side apply over to server-side
//! apply with it, and rolls Deployments back.

use serde_json::Value;

use crate::status::Status;

use super::refusal::unprocessable;

/// The most steps of a path, so that the depth of the object is bounded; kubectl's have two.
const MOST_STEPS: usize = 8;

/// The object with the replacements of a JSON patch made in order.
///
/// # Errors
/// 422 if an operation is another one, or replaces what is not there.
pub(crate) fn replace(original: &Value, patch: &Value) -> Result<Value, Status> {
    let mut object = original.clone();
    for operation in patch.as_array().ok_or_else(unprocessable)? {
        let text = |field| operation.get(field).and_then(Value::as_str).unwrap_or_default();
        let path = text("path");
        let is_known = text("op") == "replace" && (1..=MOST_STEPS).contains(&path.matches('/').count());
        let place = object.pointer_mut(path).filter(|_| is_known).ok_or_else(unprocessable)?;
        *place = operation.get("value").cloned().unwrap_or_default();
    }
    Ok(object)
}
