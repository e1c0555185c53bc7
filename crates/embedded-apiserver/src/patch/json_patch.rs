//! JSON patch (RFC 6902), as evanphx/json-patch does it.

use serde_json::{Map, Value};

use crate::codec::json::{MAX_DEPTH, json_type_of};
use crate::status::Status;

use super::refusal::unprocessable;

/// The most operations of a patch.
const MOST_OPERATIONS: usize = 10_000;

/// The most bytes of JSON that all `copy` operations of a patch add (`--max-request-bytes` of the API server).
const MOST_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Checks the types of a patch's parts, and fails with 400 if it is no list of operations.
pub(crate) fn check_operations(patch: &Value) -> Result<(), Status> {
    let wrong = |value: &Value, place: &str| {
        let kind = json_type_of(value);
        Status::bad_request(format!("error decoding patch: json: cannot unmarshal {kind} into Go {place}"))
    };
    let operations = match patch {
        Value::Array(operations) => operations,
        Value::Null => return Ok(()),
        other => return Err(wrong(other, "value of type []handlers.jsonPatchOp")),
    };
    for operation in operations {
        let fields = match operation {
            Value::Object(fields) => fields,
            Value::Null => continue,
            other => return Err(wrong(other, "value of type handlers.jsonPatchOp")),
        };
        for name in ["from", "op", "path"] {
            if let Some(value) = fields.get(name).filter(|value| !(value.is_string() || value.is_null())) {
                return Err(wrong(value, &format!("struct field jsonPatchOp.{name} of type string")));
            }
        }
    }
    Ok(())
}

/// The object with a list of operations applied in order.
/// Errors: 413 if there are too many operations; 422, without upstream's reason, if one of them does not apply; 400
/// if the patch is no list.
pub(crate) fn json_patch(original: &Value, patch: &Value) -> Result<Value, Status> {
    let operations = match patch {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => {
            let kind = json_type_of(other);
            let message = format!("json: cannot unmarshal {kind} into Go value of type jsonpatch.Patch");
            return Err(Status::bad_request(message));
        }
    };
    if operations.len() > MOST_OPERATIONS {
        let message = format!(
            "Request entity is too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", message));
    }
    let (mut document, mut copied) = (original.clone(), 0);
    let mut each = |operation: &Value| apply(&mut document, operation.as_object()?, &mut copied);
    let applied = operations.iter().try_for_each(&mut each);
    applied.ok_or_else(unprocessable)?;
    Ok(document)
}

/// Applies an operation. `None` if it does not apply. `copied` counts the bytes that copies have added.
fn apply(document: &mut Value, operation: &Map<String, Value>, copied: &mut usize) -> Option<()> {
    let text = |field: &str| operation.get(field)?.as_str();
    let value = operation.get("value");
    let path = text("path");
    match text("op")? {
        "add" => add(document, path?, value.cloned().unwrap_or_default()),
        "remove" => remove(document, path?).map(drop),
        "replace" => replace(document, path?, value.cloned().unwrap_or_default()),
        "test" => test(document, path?, value),
        "move" => {
            let value = remove(document, text("from")?)?;
            add(document, path?, value)
        }
        "copy" => {
            let value = get(document, text("from")?)?.clone();
            *copied += value.to_string().len();
            (*copied <= MOST_COPIED_BYTES).then_some(())?;
            add(document, path?, value)
        }
        _ => None,
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Option<()> {
    fits(path, &value)?;
    let (container, key) = container(document, path)?;
    match container {
        Value::Object(fields) => drop(fields.insert(key, value)),
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => items.insert(index(&key, items.len() + 1)?, value),
        _ => return None,
    }
    Some(())
}

/// The recursion over a document is bounded: `None` if the value would nest too deep.
fn fits(path: &str, value: &Value) -> Option<()> {
    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
            _ => 0,
        }
    }
    (path.matches('/').count() + depth(value) <= MAX_DEPTH).then_some(())
}

fn remove(document: &mut Value, path: &str) -> Option<Value> {
    let (container, key) = container(document, path)?;
    match container {
        Value::Object(fields) => fields.remove(&key),
        Value::Array(items) => {
            let at = index(&key, items.len())?;
            Some(items.remove(at))
        }
        _ => None,
    }
}

/// Upstream adds a field that is not there.
fn replace(document: &mut Value, path: &str, value: Value) -> Option<()> {
    fits(path, &value)?;
    if path.is_empty() {
        *document = Some(value).filter(|value| value.is_object() || value.is_array())?;
        return Some(());
    }
    let (container, key) = container(document, path)?;
    match container {
        Value::Object(fields) => drop(fields.insert(key, value)),
        Value::Array(items) => {
            let at = index(&key, items.len())?;
            *items.get_mut(at)? = value;
        }
        _ => return None,
    }
    Some(())
}

/// A field that is not there equals null, and an operation without a value.
fn test(document: &mut Value, path: &str, value: Option<&Value>) -> Option<()> {
    let equal = if path.is_empty() {
        document == value?
    } else {
        get(document, path)? == value.unwrap_or(&Value::Null)
    };
    equal.then_some(())
}

/// The value at a path; null if its object has no such field.
fn get<'a>(document: &'a mut Value, path: &str) -> Option<&'a Value> {
    let (container, key) = container(document, path)?;
    match container {
        Value::Object(fields) => Some(fields.get(&key).unwrap_or(&Value::Null)),
        Value::Array(items) => items.get(index(&key, items.len())?),
        _ => None,
    }
}

/// The object or list that the last step of a path is in, and that step. What comes before the first `/` is ignored.
fn container<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let mut steps: Vec<String> = path.split('/').skip(1).map(unescape).collect();
    let last = steps.pop()?;
    let mut place = document;
    for step in steps {
        place = match place {
            Value::Object(fields) => fields.get_mut(&step)?,
            Value::Array(items) => {
                let at = index(&step, items.len())?;
                items.get_mut(at)?
            }
            _ => return None,
        };
    }
    Some((place, last))
}

/// A position below `length`. Negative numbers count from the end.
fn index(step: &str, length: usize) -> Option<usize> {
    let number: i64 = step.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let at = if number < 0 { number + length } else { number };
    if (0..length).contains(&at) { usize::try_from(at).ok() } else { None }
}

/// Decodes `~1` and `~0` (RFC 6901).
fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
