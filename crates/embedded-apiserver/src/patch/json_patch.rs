//! JSON patch (RFC 6902), as evanphx/json-patch does it.

use serde_json::{Map, Value};

use crate::status::Status;

use super::go_text;
use super::refusal::unprocessable;

/// The most operations of a patch.
const MOST_OPERATIONS: usize = 10_000;

/// The most bytes of JSON that all `copy` operations of a patch add (`--max-request-bytes` of the API server).
const MOST_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Checks the types of a patch's parts. Returns the texts about unknown fields, which are warnings or errors by
/// `fieldValidation`. Upstream leaves out this check if `fieldValidation` is `Ignore`.
///
/// # Errors
/// 400 if the patch is no list of operations.
pub(crate) fn check_operations(patch: &Value) -> Result<Vec<String>, Status> {
    let wrong = |value: &Value, place: &str| {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        Status::bad_request(format!("error decoding patch: json: cannot unmarshal {kind} into Go {place}"))
    };
    let operations = match patch {
        Value::Array(operations) => operations,
        Value::Null => return Ok(Vec::new()),
        other => return Err(wrong(other, "value of type []handlers.jsonPatchOp")),
    };
    let mut unknown = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let fields = match operation {
            Value::Object(fields) => fields,
            Value::Null => continue,
            other => return Err(wrong(other, "value of type handlers.jsonPatchOp")),
        };
        for (name, value) in fields {
            match name.as_str() {
                "op" | "path" | "from" if !(value.is_string() || value.is_null()) => {
                    return Err(wrong(value, &format!("struct field jsonPatchOp.{name} of type string")));
                }
                "op" | "path" | "from" | "value" => {}
                _ => unknown.push(format!("json patch unknown field \"[{index}].{name}\"")),
            }
        }
    }
    Ok(unknown)
}

/// The object with a list of operations applied in order.
///
/// # Errors
/// 413 if there are too many operations; 422, without upstream's reason, if one of them does not apply; 400 if the patch is no
/// list of objects.
pub(crate) fn json_patch(original: &Value, patch: &Value) -> Result<Value, Status> {
    let operations = match patch {
        Value::Array(operations) => operations,
        Value::Null => return Ok(original.clone()),
        _ => return Err(Status::bad_request("the patch is not a list of operations")),
    };
    if operations.len() > MOST_OPERATIONS {
        let message = format!(
            "Request entity is too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", message));
    }
    let mut patching = Patching { document: original.clone(), copied: 0, wrote_null: false };
    let applied = operations.iter().try_for_each(|operation| patching.apply(operation.as_object()?));
    applied.ok_or_else(unprocessable)?;
    Ok(patching.document)
}

/// The document between operations. Operations that do not apply return `None`.
struct Patching {
    document: Value,
    /// The bytes that `copy` has added.
    copied: usize,
    /// True if an operation had null as its value. Such a null is not absent to a `test` without a value.
    wrote_null: bool,
}

/// The place that a path leads to, in an object or list that exists.
enum Found<'a> {
    Value(&'a Value),
    NoField,
}

impl<'a> Found<'a> {
    fn or_null(self) -> &'a Value {
        match self {
            Self::Value(value) => value,
            Self::NoField => &Value::Null,
        }
    }
}

impl Patching {
    fn apply(&mut self, operation: &Map<String, Value>) -> Option<()> {
        let path = operation.get("path").and_then(Value::as_str);
        let from = operation.get("from").and_then(Value::as_str);
        let value = operation.get("value").unwrap_or(&Value::Null);
        let has_value = operation.contains_key("value");
        match operation.get("op")?.as_str()? {
            "add" => {
                self.wrote_null |= has_value && value.is_null();
                self.add(path?, value.clone())
            }
            "remove" => self.remove(path?).map(drop),
            "replace" => {
                self.wrote_null |= has_value && value.is_null();
                self.replace(path?, value)
            }
            "test" if !has_value && self.wrote_null => {
                matches!(self.get(path?)?, Found::NoField).then_some(())
            }
            "test" => self.test(path?, value),
            "move" => {
                let value = self.remove(from?)?;
                self.add(path?, value)
            }
            "copy" => {
                let value = self.get(from?)?.or_null().clone();
                self.copied += go_text::json(&value).len();
                if self.copied > MOST_COPIED_BYTES {
                    return None;
                }
                self.add(path?, value)
            }
            _ => None,
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Option<()> {
        let (container, key) = self.container(path)?;
        match container {
            Value::Object(fields) => drop(fields.insert(key, value)),
            Value::Array(items) if key == "-" => items.push(value),
            Value::Array(items) => {
                let at = index(&key, items.len() + 1)?;
                items.insert(at, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn remove(&mut self, path: &str) -> Option<Value> {
        let (container, key) = self.container(path)?;
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
    fn replace(&mut self, path: &str, value: &Value) -> Option<()> {
        if path.is_empty() {
            if !(value.is_object() || value.is_array()) {
                return None;
            }
            self.document = value.clone();
            return Some(());
        }
        let (container, key) = self.container(path)?;
        match container {
            Value::Object(fields) => drop(fields.insert(key, value.clone())),
            Value::Array(items) => {
                let at = index(&key, items.len())?;
                *items.get_mut(at)? = value.clone();
            }
            _ => return None,
        }
        Some(())
    }

    /// A field that is not there equals null.
    fn test(&mut self, path: &str, value: &Value) -> Option<()> {
        let equal =
            if path.is_empty() { self.document == *value } else { self.get(path)?.or_null() == value };
        equal.then_some(())
    }

    /// The value at a path, or that its object has no such field.
    fn get(&mut self, path: &str) -> Option<Found<'_>> {
        let (container, key) = self.container(path)?;
        match container {
            Value::Object(fields) => Some(fields.get(&key).map_or(Found::NoField, Found::Value)),
            Value::Array(items) => {
                let at = index(&key, items.len())?;
                items.get(at).map(Found::Value)
            }
            _ => None,
        }
    }

    /// The object or list that the last step of a path is in, and that step. What comes before the first `/` is ignored.
    fn container(&mut self, path: &str) -> Option<(&mut Value, String)> {
        let mut steps: Vec<String> = path.split('/').skip(1).map(unescape).collect();
        let last = steps.pop()?;
        let mut place = &mut self.document;
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
    let mut parts = step.split('~');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (c, rest) = match (part.strip_prefix('1'), part.strip_prefix('0')) {
            (Some(rest), _) => ('/', rest),
            (_, Some(rest)) => ('~', rest),
            _ => ('~', part),
        };
        text.push(c);
        text.push_str(rest);
    }
    text
}
