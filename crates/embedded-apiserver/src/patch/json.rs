//! JSON patch (RFC 6902), without `move` and `copy`, which could make objects grow without bound.

use serde_json::Value;

use crate::status::Status;

use super::refusal::unprocessable;

/// The most steps of a path, so that the depth of the object is bounded.
const MOST_STEPS: usize = 16;

/// The object with the operations of a JSON patch made in order. An object may be changed at places that it has, and get fields
/// and items where they have a parent.
/// Errors: 422 if an operation is another one, is about what is not there, or is a test that fails.
pub(crate) fn json(original: &Value, patch: &Value) -> Result<Value, Status> {
    let mut object = original.clone();
    for operation in patch.as_array().ok_or_else(unprocessable)? {
        apply(&mut object, operation).ok_or_else(unprocessable)?;
    }
    Ok(object)
}

fn apply(object: &mut Value, operation: &Value) -> Option<()> {
    let text = |field| operation.get(field).and_then(Value::as_str);
    let value = operation.get("value").cloned().unwrap_or_default();
    let path = text("path").filter(|path| (1..=MOST_STEPS).contains(&path.matches('/').count()))?;
    match text("op")? {
        "add" => add(object, path, value),
        "remove" => remove(object, path),
        "replace" => {
            *object.pointer_mut(path)? = value;
            Some(())
        }
        "test" => (*object.pointer(path).unwrap_or(&Value::Null) == value).then_some(()),
        _ => None,
    }
}

/// The parent of a place, and the name or index in it.
fn place<'a>(object: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((object.pointer_mut(parent)?, last.replace("~1", "/").replace("~0", "~")))
}

fn add(object: &mut Value, path: &str, value: Value) -> Option<()> {
    match place(object, path)? {
        (Value::Object(fields), name) => {
            fields.insert(name, value);
        }
        (Value::Array(items), last) if last == "-" => items.push(value),
        (Value::Array(items), index) => {
            let index = index.parse().ok().filter(|index| *index <= items.len())?;
            items.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(object: &mut Value, path: &str) -> Option<()> {
    match place(object, path)? {
        (Value::Object(fields), name) => fields.remove(&name).map(drop),
        (Value::Array(items), index) => {
            let index = index.parse().ok().filter(|index| *index < items.len())?;
            items.remove(index);
            Some(())
        }
        _ => None,
    }
}
