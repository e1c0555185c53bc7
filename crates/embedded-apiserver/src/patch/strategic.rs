//! Strategic merge patch: merge patch with lists that are merged by a key, as the types of the API declare.
//!
//! Source: apimachinery `util/strategicpatch`, with its errors. Where upstream follows the random order of a map, this follows
//! the order of the keys.

mod directives;
mod lists;
mod lookup;
mod order;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::schema::Type;
use crate::status::Status;

use super::{go_text, unprocessable};

use directives::{discard_nulls, remove_directives};
use lookup::Place;

/// The key of a directive in an object: `delete`, `replace` or, in lists, `merge`.
const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// The object with a strategic merge patch applied.
///
/// # Errors
/// 400 or 422 if a directive is malformed; 500, as upstream, for other errors in the patch.
pub(crate) fn strategic(of: &'static Type, original: &Value, patch: &Value) -> Result<Value, Status> {
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else {
        return Err(Status::bad_request("invalid JSON document"));
    };
    let merged =
        merge_map(original.clone(), patch.clone(), Place::Struct(of)).map_err(Failure::into_status)?;
    Ok(Value::Object(merged))
}

/// The error of a patch, by the answer that it gives.
#[derive(Debug)]
enum Failure {
    BadRequest(&'static str),
    Unprocessable,
    Other(String),
}

impl Failure {
    const BAD_RETAIN_KEYS: Self = Self::BadRequest("invalid patch format of retainKeys");
    const BAD_ELEMENT_ORDER: Self = Self::BadRequest("invalid patch format of setElementOrder list");
    const BAD_PRIMITIVE_LIST: Self = Self::BadRequest("invalid patch format of primitive list");

    /// A value has another type than a directive or merge needs.
    fn wrong_type(expected: &'static str, actual: &Value) -> Self {
        let actual = if actual.is_null() { "%!s(<nil>)" } else { go_text::type_of(actual) };
        Self::Other(format!("expected a {expected}, but received a {actual}"))
    }

    fn no_merge_key(item: &Map<String, Value>, key: &str) -> Self {
        let item = go_text::plain(&Value::Object(item.clone()));
        Self::Other(format!("map: {item} does not contain declared merge key: {key}"))
    }

    fn unknown_directive(directive: &Value, item: &Map<String, Value>) -> Self {
        let item = go_text::plain(&Value::Object(item.clone()));
        let directive = go_text::as_text(directive);
        Self::Other(format!("unknown patch type: {directive} in map: {item}"))
    }

    fn into_status(self) -> Status {
        match self {
            Self::BadRequest(message) => Status::bad_request(message),
            Self::Unprocessable => unprocessable(),
            Self::Other(message) => Status::new(500, "", message),
        }
    }
}

type Fields = Map<String, Value>;

fn merge_map(mut original: Fields, mut patch: Fields, place: Place) -> Result<Fields, Failure> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(Failure::unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    lists::merge_ordered(&mut original, &mut patch, place)?;
    for (key, change) in patch {
        let deletes = key.starts_with(DELETE_FROM_PRIMITIVE_LIST);
        let key = if deletes {
            directives::list_of_directive(&key, DELETE_FROM_PRIMITIVE_LIST)?.to_owned()
        } else {
            key
        };
        if change.is_null() {
            original.remove(&key);
            continue;
        }
        let mergeable =
            original.get(&key).is_some_and(|old| go_text::type_of(old) == go_text::type_of(&change));
        if !mergeable {
            if !deletes {
                replace(&mut original, key, change, true);
            }
            continue;
        }
        match (original.remove(&key), change) {
            (Some(Value::Object(old)), Value::Object(change)) => {
                let (field, below) = place.field(&key)?;
                let merged =
                    if field.strategy == "replace" { change } else { merge_map(old, change, below)? };
                original.insert(key, Value::Object(merged));
            }
            (Some(Value::Array(old)), Value::Array(change)) => {
                let (field, items) = place.list(&key)?;
                let merged = lists::merge_list(old, change, items, &field, deletes)?;
                original.insert(key, Value::Array(merged));
            }
            (_, change) => replace(&mut original, key, change, false),
        }
    }
    Ok(original)
}

/// Takes the value of the patch as it is, without its directives. A value that is a directive deletes the field.
fn replace(original: &mut Fields, key: String, mut change: Value, discard: bool) {
    if discard {
        discard_nulls(&mut change);
    }
    match remove_directives(change) {
        Some(change) => drop(original.insert(key, change)),
        None => drop(original.remove(&key)),
    }
}

/// Follows `$retainKeys`: only the listed fields stay.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), Failure> {
    let Some(list) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(list) = list else { return Err(Failure::BAD_RETAIN_KEYS) };
    let keys: BTreeSet<&str> = list.iter().filter_map(Value::as_str).collect();
    let is_list_directive =
        |key: &str| key.starts_with(DELETE_FROM_PRIMITIVE_LIST) || key.starts_with(SET_ELEMENT_ORDER);
    if patch
        .iter()
        .any(|(key, value)| !value.is_null() && !is_list_directive(key) && !keys.contains(key.as_str()))
    {
        return Err(Failure::BAD_RETAIN_KEYS);
    }
    original.retain(|key, _| keys.contains(key.as_str()));
    Ok(())
}
