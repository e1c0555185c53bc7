//! JSON patch (RFC 6902), as evanphx/json-patch does it.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::codec::json::{self, MAX_DEPTH, json_type_of};
use crate::status::Status;

use super::document::{Node, check_depth, depth};
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
        let kind = json_type_of(value);
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

/// An operation.
type Operation<'a> = BTreeMap<String, Option<&'a RawValue>>;

/// The object with a list of operations applied in order. What they do not touch keeps its order.
///
/// # Errors
/// 413 if there are too many operations; 422, without upstream's reason, if one of them does not apply; 400 if the patch is no
/// list of objects, or nests too deep.
pub(crate) fn json_patch(original: &str, patch: &str) -> Result<String, Status> {
    check_depth(patch)?;
    let operations: Option<Vec<Option<Operation<'_>>>> =
        serde_json::from_str(patch).map_err(|_| Status::bad_request(not_operations(patch)))?;
    let operations = operations.unwrap_or_default();
    if operations.len() > MOST_OPERATIONS {
        let message = format!(
            "Request entity is too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", message));
    }
    let mut document = Node::Raw(original);
    document.open();
    let mut patching = Patching { document, copied: 0, depth: depth(original) };
    let applied = operations.iter().try_for_each(|operation| patching.apply(operation.as_ref()?));
    applied.ok_or_else(unprocessable)?;
    Ok(patching.document.into_text())
}

/// Go's words for a text that is no list of operations.
fn not_operations(patch: &str) -> String {
    if let Some(error) = json::syntax_error(patch.as_bytes()) {
        return error;
    }
    let (value, of) = match serde_json::from_str(patch) {
        Ok(Value::Array(items)) => {
            let wrong = items.into_iter().find(|item| !(item.is_object() || item.is_null()));
            (wrong.unwrap_or_default(), "Operation")
        }
        other => (other.unwrap_or_default(), "Patch"),
    };
    format!("json: cannot unmarshal {} into Go value of type jsonpatch.{of}", json_type_of(&value))
}

/// The document between operations. Operations that do not apply return `None`.
struct Patching<'a> {
    document: Node<'a>,
    /// The bytes that `copy` has added.
    copied: usize,
    /// The document has no more levels: what is copied or moved counts as deep as it may be at most.
    depth: usize,
}

/// The place that a path leads to, in an object or list that exists.
enum Found<'d, 'a> {
    Value(&'d mut Node<'a>),
    NoField,
}

impl<'a> Found<'_, 'a> {
    fn copy(self) -> Node<'a> {
        match self {
            Self::Value(value) => value.clone(),
            Self::NoField => Node::Null,
        }
    }
}

impl<'a> Patching<'a> {
    fn apply(&mut self, operation: &Operation<'a>) -> Option<()> {
        let text = |field: &str| -> Option<String> {
            serde_json::from_str(operation.get(field).copied().flatten()?.get()).ok()
        };
        let value =
            operation.get("value").map(|value| value.map_or(Node::Written, |raw| Node::Raw(raw.get())));
        let levels = operation.get("value").copied().flatten().map_or(0, |raw| depth(raw.get()));
        let path = || text("path");
        match text("op")?.as_str() {
            "add" => self.add(&path()?, value.unwrap_or(Node::Null), levels),
            "remove" => self.remove(&path()?).map(drop),
            "replace" => self.replace(&path()?, value.unwrap_or(Node::Null), levels),
            "test" => self.test(&path()?, value),
            "move" => {
                let from = text("from")?;
                let value = self.remove(&from)?;
                self.add(&path()?, value, self.levels_at(&from))
            }
            "copy" => {
                let from = text("from")?;
                let value = self.get(&from)?.copy();
                let mut copied = Vec::new();
                value.write(&mut copied);
                self.copied += copied.len();
                if self.copied > MOST_COPIED_BYTES {
                    return None;
                }
                self.add(&path()?, value, self.levels_at(&from))
            }
            _ => None,
        }
    }

    /// The levels that a value at a path has at most.
    fn levels_at(&self, path: &str) -> usize {
        self.depth.saturating_sub(steps_of(path))
    }

    /// Counts the levels of a value that comes to a path. `None` if the document would nest too deep.
    fn deepen(&mut self, path: &str, levels: usize) -> Option<()> {
        self.depth = self.depth.max(steps_of(path) + levels);
        (self.depth <= MAX_DEPTH).then_some(())
    }

    fn add(&mut self, path: &str, value: Node<'a>, levels: usize) -> Option<()> {
        self.deepen(path, levels)?;
        let (container, key) = self.container(path)?;
        match container {
            Node::Object(fields) => drop(fields.insert(key, value)),
            Node::Array(items) if key == "-" => items.push(value),
            Node::Array(items) => {
                let at = index(&key, items.len() + 1)?;
                items.insert(at, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn remove(&mut self, path: &str) -> Option<Node<'a>> {
        let (container, key) = self.container(path)?;
        match container {
            Node::Object(fields) => fields.remove(&key),
            Node::Array(items) => {
                let at = index(&key, items.len())?;
                Some(items.remove(at))
            }
            _ => None,
        }
    }

    /// Upstream adds a field that is not there.
    fn replace(&mut self, path: &str, mut value: Node<'a>, levels: usize) -> Option<()> {
        self.deepen(path, levels)?;
        if path.is_empty() {
            value.open();
            if !matches!(value, Node::Object(_) | Node::Array(_)) {
                return None;
            }
            self.document = value;
            return Some(());
        }
        let (container, key) = self.container(path)?;
        match container {
            Node::Object(fields) => drop(fields.insert(key, value)),
            Node::Array(items) => {
                let at = index(&key, items.len())?;
                *items.get_mut(at)? = value;
            }
            _ => return None,
        }
        Some(())
    }

    /// A field that is not there equals null, and an operation without a value.
    fn test(&mut self, path: &str, value: Option<Node<'a>>) -> Option<()> {
        let equal = if path.is_empty() {
            self.document.equals(&mut value?)
        } else {
            match (self.get(path)?, value) {
                (Found::NoField | Found::Value(Node::Null), value) => {
                    matches!(value, None | Some(Node::Written))
                }
                (Found::Value(_), None) => false,
                (Found::Value(found), Some(mut value)) => found.equals(&mut value),
            }
        };
        equal.then_some(())
    }

    /// The value at a path, or that its object has no such field.
    fn get(&mut self, path: &str) -> Option<Found<'_, 'a>> {
        let (container, key) = self.container(path)?;
        match container {
            Node::Object(fields) => Some(fields.get_mut(&key).map_or(Found::NoField, Found::Value)),
            Node::Array(items) => {
                let at = index(&key, items.len())?;
                items.get_mut(at).map(Found::Value)
            }
            _ => None,
        }
    }

    /// The object or list that the last step of a path is in, and that step. What comes before the first `/` is ignored.
    fn container(&mut self, path: &str) -> Option<(&mut Node<'a>, String)> {
        let mut steps: Vec<String> = path.split('/').skip(1).map(unescape).collect();
        let last = steps.pop()?;
        let mut place = &mut self.document;
        for step in steps {
            place = match place {
                Node::Object(fields) => fields.get_mut(&step)?,
                Node::Array(items) => {
                    let at = index(&step, items.len())?;
                    items.get_mut(at)?
                }
                _ => return None,
            };
            place.open();
        }
        Some((place, last))
    }
}

/// The steps of a path.
fn steps_of(path: &str) -> usize {
    path.matches('/').count()
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
