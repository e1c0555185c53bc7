//! Lists that are merged item by item.

use serde_json::{Map, Value};

use crate::patch::go_text;

use super::directives::{deletes, list_of_directive, remove_directives};
use super::lookup::{Field, Place};
use super::order::{Items, in_order, partition, separate_deletes};
use super::{DIRECTIVE, Failure, Fields, SET_ELEMENT_ORDER, merge_map};

/// Merges the lists that have a `$setElementOrder`, and removes them from the patch.
pub(super) fn merge_ordered(original: &mut Fields, patch: &mut Fields, place: Place) -> Result<(), Failure> {
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
            (None, Some(change)) => change.into_iter().filter_map(remove_directives).collect(),
            (Some(old), Some(change)) => merge_list(old, change, items, &field, false)?,
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

/// The order of the server's items, as upstream finds it after the merge: added items have taken the places that deletions
/// left free in the slice.
fn order_after(old: Vec<Value>, patch: &[Value], key: &str) -> Result<Vec<Value>, Failure> {
    let mut added = Vec::new();
    let mut order = old;
    let length = order.len();
    for item in patch {
        let fields = object(item)?;
        let Some(value) = fields.get(key) else { continue };
        if deletes(fields) {
            order.retain(|other| other.get(key) != Some(value));
        } else if !fields.contains_key(DIRECTIVE) {
            added.push((value, item));
        } else {
            // the list is replaced
            return Ok(order);
        }
    }
    for (value, item) in added {
        if order.len() < length && position(&order, key, value)?.is_none() {
            order.push(item.clone());
        }
    }
    Ok(order)
}

fn list_in(fields: &Fields, key: &str) -> Result<Option<Vec<Value>>, Failure> {
    match fields.get(key) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(Failure::wrong_type("[]interface {}", other)),
    }
}

/// Checks that a list of the patch has the order of its `$setElementOrder`.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), Failure> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let kept: Vec<&Value> = if key.is_empty() { patch.iter().collect() } else { separate_deletes(patch)?.0 };
    let has_directive = |item: &Value| item.as_object().is_some_and(|item| item.contains_key(DIRECTIVE));
    let mut left = kept.into_iter().peekable();
    for place in order {
        // items with directives have no place; upstream does not look past the end of the order
        while left.next_if(|item| has_directive(item)).is_some() {}
        let Some(item) = left.peek() else { break };
        if same_key(item, place, key)? {
            left.next();
        }
    }
    if left.peek().is_none() {
        return Ok(());
    }
    let plain = |items: &[Value]| go_text::plain(&Value::Array(items.to_vec()));
    Err(Failure::Other(format!(
        "The order in patch list:\n{}\n doesn't match {SET_ELEMENT_ORDER} list:\n{}\n",
        plain(patch),
        plain(order)
    )))
}

fn same_key(a: &Value, b: &Value, key: &str) -> Result<bool, Failure> {
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

pub(super) fn object(item: &Value) -> Result<&Map<String, Value>, Failure> {
    item.as_object().ok_or_else(|| Failure::wrong_type("map[string]interface {}", item))
}

/// Merges two lists by the strategy of their field, or removes the items of the second from the first.
pub(super) fn merge_list(
    original: Vec<Value>,
    patch: Vec<Value>,
    items: Place,
    field: &Field,
    is_deletion: bool,
) -> Result<Vec<Value>, Failure> {
    if field.strategy != "merge" && !is_deletion {
        return Ok(patch);
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let kind = Items::of(&[&original, &patch])?;
    if kind == Items::Scalars {
        if is_deletion {
            return Ok(original.into_iter().filter(|item| !patch.contains(item)).collect());
        }
        let mut merged: Vec<Value> = original.iter().chain(&patch).cloned().collect();
        deduplicate(&mut merged);
        let (of_patch, of_server) = partition(merged, &patch, field.key)?;
        return in_order(of_patch, of_server, &patch, &original, kind, field.key);
    }
    if field.key.is_empty() {
        return Err(Failure::Other(format!("cannot merge lists without merge key for {}", items.kind())));
    }
    let (original, patch) = follow_directives(original, patch, field.key)?;
    let merged = merge_objects(&original, &patch, items, field.key)?;
    let (of_patch, of_server) = partition(merged, &patch, field.key)?;
    in_order(of_patch, of_server, &patch, &original, kind, field.key)
}

/// Removes equal scalars. The last item takes the place of a removed one, as upstream does it.
fn deduplicate(items: &mut Vec<Value>) {
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

/// Deletes the items that the patch deletes. If it replaces the list, its items are the original and nothing is left to
/// merge.
fn follow_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Failure> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for item in patch {
        let fields = object(&item)?;
        let Some(directive) = fields.get(DIRECTIVE) else {
            plain.push(item);
            continue;
        };
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
    Ok(if replaces { (plain, Vec::new()) } else { (original, plain) })
}

fn merge_objects(
    original: &[Value],
    patch: &[Value],
    items: Place,
    key: &str,
) -> Result<Vec<Value>, Failure> {
    let mut merged = original.to_vec();
    for item in patch {
        let change = object(item)?;
        let value = change.get(key).ok_or_else(|| Failure::no_merge_key(change, key))?;
        let found = position(&merged, key, value)?;
        match found.and_then(|at| merged.get_mut(at)) {
            Some(old) => {
                let fields = old.as_object().cloned().unwrap_or_default();
                *old = Value::Object(merge_map(fields, change.clone(), items)?);
            }
            None => merged.push(item.clone()),
        }
    }
    Ok(merged)
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
