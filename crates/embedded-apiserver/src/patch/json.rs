//! JSON patch (RFC 6902), without `move` and `copy`, which could make objects grow without bound.

use serde_json::Value;

use crate::status::Status;

use super::refusal::unprocessable;

/// The most steps of a path, so that the depth of the object is bounded.
const MOST_STEPS: usize = 16;

/// The object with the operations of a JSON patch made in order, as evanphx/json-patch 4 does it: `replace` adds the key that an
/// object lacks, and a negative index counts from the end of a list.
/// Errors: 422 if the patch is not a list of objects, or an operation is another one, is about what is not there, or is a test
/// that fails.
pub(crate) fn json(original: &Value, patch: &Value) -> Result<Value, Status> {
    let mut object = original.clone();
    // Null is a patch without operations.
    let operations = if patch.is_null() { Some(&[][..]) } else { patch.as_array().map(Vec::as_slice) };
    for operation in operations.ok_or_else(unprocessable)? {
        apply(&mut object, operation).ok_or_else(unprocessable)?;
    }
    Ok(object)
}

fn apply(object: &mut Value, operation: &Value) -> Option<()> {
    let text = |field| operation.get(field).and_then(Value::as_str);
    let value = operation.get("value").unwrap_or(&Value::Null);
    let path = text("path").filter(|path| path.matches('/').count() <= MOST_STEPS)?;
    match (text("op")?, place(object, path)?) {
        ("add" | "replace", (Value::Object(fields), name)) => drop(fields.insert(name, value.clone())),
        ("remove", (Value::Object(fields), name)) => drop(fields.remove(&name)?),
        ("test", (Value::Object(fields), name)) => {
            return (fields.get(&name).unwrap_or(&Value::Null) == value).then_some(());
        }
        ("add", (Value::Array(items), last)) => {
            let end = items.len();
            items.insert(if last == "-" { end } else { index(&last, end + 1)? }, value.clone());
        }
        (op, (Value::Array(items), last)) => {
            let index = index(&last, items.len())?;
            match op {
                "replace" => *items.get_mut(index)? = value.clone(),
                "remove" => drop(items.remove(index)),
                "test" => return (items.get(index)? == value).then_some(()),
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(())
}

/// The parent of a place, and the name or index in it.
fn place<'a>(object: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let mut steps = path.strip_prefix('/')?.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
    let last = steps.next_back()?;
    let parent = steps.try_fold(object, |parent, step| match parent {
        Value::Object(fields) => fields.get_mut(&step),
        Value::Array(items) => index(&step, items.len()).and_then(move |index| items.get_mut(index)),
        _ => None,
    })?;
    Some((parent, last))
}

/// The place of an item, by an index below `length`. A negative one counts from there.
fn index(text: &str, length: usize) -> Option<usize> {
    let index: isize = text.parse().ok()?;
    usize::try_from(index).ok().or_else(|| length.checked_add_signed(index)).filter(|index| *index < length)
}
