//! Items of lists and their keys.

use serde_json::{Map, Value};

use crate::go;

use super::directives::deletes;
use super::failure::Failure;

/// The items of a list that is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    Objects,
    Scalars,
}

impl Items {
    /// The kind of all items of these lists.
    pub(super) fn of(lists: &[&[Value]]) -> Result<Self, Failure> {
        let mut first: Option<&Value> = None;
        for item in lists.iter().copied().flatten() {
            match first {
                None if item.is_array() => return Err(Failure::Unprocessable),
                None => first = Some(item),
                Some(first) if go::type_of(first) != go::type_of(item) => {
                    let all: Vec<Value> = lists.iter().map(|list| Value::Array(list.to_vec())).collect();
                    let all = go::plain(&Value::Array(all));
                    return Err(Failure::Other(format!("list element types are not identical: {all}")));
                }
                Some(_) => {}
            }
        }
        match first {
            Some(Value::Object(_)) => Ok(Self::Objects),
            Some(_) => Ok(Self::Scalars),
            None => Err(Failure::Other("no elements in any of the given slices".to_owned())),
        }
    }
}

/// An item as an object.
pub(super) fn object(item: &Value) -> Result<&Map<String, Value>, Failure> {
    item.as_object().ok_or_else(|| Failure::wrong_type("map[string]interface {}", item))
}

/// True if two items have the same key; scalars are their own keys.
pub(super) fn same_key(a: &Value, b: &Value, key: &str) -> Result<bool, Failure> {
    if key.is_empty() {
        return Ok(a == b);
    }
    let (a, b) = (object(a)?, object(b)?);
    match (a.get(key), b.get(key)) {
        (None, _) => Err(Failure::no_merge_key(a, key)),
        (_, None) => Err(Failure::no_merge_key(b, key)),
        (a, b) => Ok(a == b),
    }
}

/// The first item with this value of the key.
pub(super) fn position(items: &[Value], key: &str, value: &Value) -> Result<Option<usize>, Failure> {
    for (at, item) in items.iter().enumerate() {
        let Some(fields) = item.as_object() else {
            return Err(Failure::Other(format!("value for key {at} is not a map")));
        };
        if fields.get(key) == Some(value) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// The items that stay, and those that delete their namesakes.
pub(super) fn separate_deletes(items: &[Value]) -> Result<(Vec<&Value>, Vec<&Value>), Failure> {
    let (mut kept, mut deleted) = (Vec::new(), Vec::new());
    for item in items {
        if deletes(object(item)?) { deleted.push(item) } else { kept.push(item) }
    }
    Ok((kept, deleted))
}

/// Removes equal scalars. The last item takes the place of a removed one, as upstream does it.
pub(super) fn deduplicate(items: &mut Vec<Value>) {
    let mut first = 0;
    while first < items.len() {
        let mut other = first + 1;
        while other < items.len() {
            if items.get(first) == items.get(other) {
                items.swap_remove(other);
            } else {
                other += 1;
            }
        }
        first += 1;
    }
}
