//! The merge itself, which goes from objects to lists and back.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::patch::go_text;
use crate::patch::merge::drop_nulls;

use super::directives::{deletes, list_of_directive, remove_directives};
use super::failure::{DELETE_FROM_PRIMITIVE_LIST, DIRECTIVE, Failure, RETAIN_KEYS, SET_ELEMENT_ORDER};
use super::items::{Items, deduplicate, object, position};
use super::lookup::{Field, Place};
use super::order::{check_order, in_order, order_after, partition};

type Fields = Map<String, Value>;

/// Merges a patch into an object, which is at this place.
pub(super) fn merge_map(mut original: Fields, patch: &mut Fields, place: Place) -> Result<Fields, Failure> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch.clone())
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(Failure::unknown_directive(directive, patch)),
        };
    }
    retain_keys(&mut original, patch)?;
    merge_ordered(&mut original, patch, place)?;
    for (key, change) in patch.iter_mut() {
        let deletes = key.starts_with(DELETE_FROM_PRIMITIVE_LIST);
        let key = if deletes { list_of_directive(key, DELETE_FROM_PRIMITIVE_LIST)? } else { key };
        if change.is_null() {
            original.remove(key);
            continue;
        }
        let mergeable =
            original.get(key).is_some_and(|old| go_text::type_of(old) == go_text::type_of(change));
        if !mergeable {
            if !deletes {
                replace(&mut original, key, change, true);
            }
            continue;
        }
        match (original.remove(key), change) {
            (Some(Value::Object(old)), Value::Object(change)) => {
                let (field, below) = place.field(key)?;
                let merged =
                    if field.strategy == "replace" { change.clone() } else { merge_map(old, change, below)? };
                original.insert(key.to_owned(), Value::Object(merged));
            }
            (Some(Value::Array(old)), Value::Array(change)) => {
                let (field, items) = place.list(key)?;
                let merged = merge_list(old, change, items, &field, deletes)?;
                original.insert(key.to_owned(), Value::Array(merged));
            }
            (_, change) => replace(&mut original, key, change, false),
        }
    }
    Ok(original)
}

/// Takes the value of the patch as it is, without its directives. A value that is a directive deletes the field.
fn replace(original: &mut Fields, key: &str, change: &mut Value, discard: bool) {
    if discard {
        drop_nulls(change);
    }
    match remove_directives(change) {
        Some(change) => drop(original.insert(key.to_owned(), change)),
        None => drop(original.remove(key)),
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

/// Merges the lists that have a `$setElementOrder`, and removes them from the patch.
fn merge_ordered(original: &mut Fields, patch: &mut Fields, place: Place) -> Result<(), Failure> {
    let keys: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for key in keys {
        let order = match patch.remove(&key) {
            Some(Value::Array(order)) => order,
            other => return Err(Failure::wrong_type("[]interface {}", &other.unwrap_or_default())),
        };
        let list = list_of_directive(&key, SET_ELEMENT_ORDER)?;
        let old = list_in(original, list)?;
        let change = list_in(patch, list)?;
        let (field, items) = place.list(list)?;
        check_order(change.as_deref().unwrap_or_default(), &order, field.key)?;
        let merged = match (old.clone(), change.clone()) {
            (Some(old), None) => old,
            (None, Some(mut change)) => change.iter_mut().filter_map(remove_directives).collect(),
            (Some(old), Some(mut change)) => merge_list(old, &mut change, items, &field, false)?,
            (None, None) => continue,
        };
        let (of_patch, of_server) = partition(merged, &order, field.key)?;
        let (old, change) = (old.unwrap_or_default(), change.unwrap_or_default());
        let kind = Items::of(&[&old, &change])?;
        let server_order = if kind == Items::Objects { order_after(old, &change, field.key)? } else { old };
        let merged = in_order(of_patch, of_server, &order, &server_order, kind, field.key)?;
        original.insert(list.to_owned(), Value::Array(merged));
        patch.remove(list);
    }
    Ok(())
}

fn list_in(fields: &Fields, key: &str) -> Result<Option<Vec<Value>>, Failure> {
    match fields.get(key) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(Failure::wrong_type("[]interface {}", other)),
    }
}

/// Merges two lists by the strategy of their field, or removes the items of the second from the first.
fn merge_list(
    original: Vec<Value>,
    patch: &mut [Value],
    items: Place,
    field: &Field,
    is_deletion: bool,
) -> Result<Vec<Value>, Failure> {
    if field.strategy != "merge" && !is_deletion {
        return Ok(patch.to_vec());
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let kind = Items::of(&[&original, patch])?;
    if kind == Items::Scalars {
        if is_deletion {
            return Ok(original.into_iter().filter(|item| !patch.contains(item)).collect());
        }
        let mut merged: Vec<Value> = original.iter().chain(patch.iter()).cloned().collect();
        deduplicate(&mut merged);
        let (of_patch, of_server) = partition(merged, patch, field.key)?;
        return in_order(of_patch, of_server, patch, &original, kind, field.key);
    }
    if field.key.is_empty() {
        return Err(Failure::Other(format!("cannot merge lists without merge key for {}", items.kind())));
    }
    let (original, mut plain) = follow_directives(original, patch, field.key)?;
    let merged = merge_objects(&original, &mut plain, items, field.key)?;
    let patch: Vec<Value> = plain.into_iter().map(|item| item.clone()).collect();
    let (of_patch, of_server) = partition(merged, &patch, field.key)?;
    in_order(of_patch, of_server, &patch, &original, kind, field.key)
}

/// Deletes the items that the patch deletes. If it replaces the list, its items are the original and nothing is left to
/// merge.
fn follow_directives<'p>(
    mut original: Vec<Value>,
    patch: &'p mut [Value],
    key: &str,
) -> Result<(Vec<Value>, Vec<&'p mut Value>), Failure> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for item in patch {
        if !object(item)?.contains_key(DIRECTIVE) {
            plain.push(item);
            continue;
        }
        let fields = object(item)?;
        let directive = fields.get(DIRECTIVE).unwrap_or(&Value::Null);
        match directive.as_str() {
            Some("delete") if deletes(fields) => {
                let value = fields.get(key).ok_or_else(|| Failure::no_merge_key(fields, key))?;
                while let Some(at) = position(&original, key, value)? {
                    original.remove(at);
                }
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(Failure::Other("merging lists cannot yet be specified in the patch".to_owned()));
            }
            _ => return Err(Failure::unknown_directive(directive, fields)),
        }
    }
    Ok(if replaces {
        (plain.into_iter().map(|item| item.clone()).collect(), Vec::new())
    } else {
        (original, plain)
    })
}

fn merge_objects(
    original: &[Value],
    patch: &mut [&mut Value],
    items: Place,
    key: &str,
) -> Result<Vec<Value>, Failure> {
    let mut merged = original.to_vec();
    for item in patch {
        let change = object(item)?;
        let value = change.get(key).ok_or_else(|| Failure::no_merge_key(change, key))?;
        let found = position(&merged, key, value)?;
        match (found.and_then(|at| merged.get_mut(at)), &mut **item) {
            (Some(old), Value::Object(change)) => {
                let fields = old.as_object().cloned().unwrap_or_default();
                *old = Value::Object(merge_map(fields, change, items)?);
            }
            (_, item) => merged.push(item.clone()),
        }
    }
    Ok(merged)
}
