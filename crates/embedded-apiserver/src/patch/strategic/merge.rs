//! The merge itself, which goes from objects to lists and back.

use std::collections::BTreeSet;
use std::mem::discriminant;

use serde_json::{Map, Value};

use crate::patch::merge::drop_nulls;
use crate::schema::Field;

use super::directives::{
    DELETE_FROM_PRIMITIVE_LIST, DIRECTIVE, RETAIN_KEYS, SET_ELEMENT_ORDER, list_of_directive,
    remove_directives,
};
use super::items::{Items, deduplicate, position};
use super::lookup::{self, Place, items_of, place_of, strategy};
use super::order::{check_order, in_order, order_after, partition};

type Fields = Map<String, Value>;

/// Merges a patch into an object, which is at this place. None if that is not possible, here and below.
pub(super) fn merge_map(mut original: Fields, patch: &mut Fields, place: Place) -> Option<Fields> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str()? {
            "replace" => {
                patch.remove(DIRECTIVE);
                Some(patch.clone())
            }
            "delete" => Some(Fields::new()),
            _ => None,
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
        let mergeable = original.get(key).is_some_and(|old| discriminant(old) == discriminant(change));
        if !mergeable {
            if !deletes {
                replace(&mut original, key, change, true);
            }
            continue;
        }
        match (original.remove(key), change) {
            (Some(Value::Object(old)), Value::Object(change)) => {
                let field = lookup::field(place, key)?;
                let merged = if strategy(field) == "replace" {
                    change.clone()
                } else {
                    merge_map(old, change, place_of(&field.node))?
                };
                original.insert(key.to_owned(), Value::Object(merged));
            }
            (Some(Value::Array(old)), Value::Array(change)) => {
                let merged = merge_list(old, change, lookup::field(place, key)?, deletes)?;
                original.insert(key.to_owned(), Value::Array(merged));
            }
            (_, change) => replace(&mut original, key, change, false),
        }
    }
    Some(original)
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
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Option<()> {
    let Some(list) = patch.remove(RETAIN_KEYS) else { return Some(()) };
    let keys: BTreeSet<&str> = list.as_array()?.iter().filter_map(Value::as_str).collect();
    let is_list_directive =
        |key: &str| key.starts_with(DELETE_FROM_PRIMITIVE_LIST) || key.starts_with(SET_ELEMENT_ORDER);
    let fits = |key: &str, value: &Value| value.is_null() || is_list_directive(key) || keys.contains(key);
    if !patch.iter().all(|(key, value)| fits(key, value)) {
        return None;
    }
    original.retain(|key, _| keys.contains(key.as_str()));
    Some(())
}

/// Merges the lists that have a `$setElementOrder`, and removes them from the patch.
fn merge_ordered(original: &mut Fields, patch: &mut Fields, place: Place) -> Option<()> {
    let keys: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in keys {
        let Some(Value::Array(order)) = patch.remove(&directive) else { return None };
        let list = list_of_directive(&directive, SET_ELEMENT_ORDER)?;
        if [&*original, &*patch].iter().any(|fields| fields.get(list).is_some_and(|value| !value.is_array()))
        {
            return None;
        }
        let list_in = |fields: &Fields| fields.get(list).and_then(Value::as_array).cloned();
        let (old, change) = (list_in(original), list_in(patch));
        let field = lookup::field(place, list)?;
        let key = field.patch_merge_key;
        check_order(change.as_deref().unwrap_or_default(), &order, key)?;
        let merged = match (old.clone(), change.clone()) {
            (Some(old), None) => old,
            (None, Some(mut change)) => change.iter_mut().filter_map(remove_directives).collect(),
            (Some(old), Some(mut change)) => merge_list(old, &mut change, field, false)?,
            (None, None) => continue,
        };
        let (of_patch, of_server) = partition(merged, &order, key)?;
        let (old, change) = (old.unwrap_or_default(), change.unwrap_or_default());
        let kind = Items::of(&[&old, &change])?;
        let server_order = if kind == Items::Objects { order_after(old, &change, key) } else { old };
        let merged = in_order(of_patch, of_server, &order, &server_order, kind, key)?;
        original.insert(list.to_owned(), Value::Array(merged));
        patch.remove(list);
    }
    Some(())
}

/// Merges two lists by the strategy of their field, or removes the items of the second from the first.
fn merge_list(
    original: Vec<Value>,
    patch: &mut [Value],
    field: &'static Field,
    is_deletion: bool,
) -> Option<Vec<Value>> {
    let (items, key) = (items_of(field)?, field.patch_merge_key);
    if strategy(field) != "merge" && !is_deletion {
        return Some(patch.to_vec());
    }
    if original.is_empty() && patch.is_empty() {
        return Some(original);
    }
    let kind = Items::of(&[&original, patch])?;
    if kind == Items::Scalars {
        if is_deletion {
            return Some(original.into_iter().filter(|item| !patch.contains(item)).collect());
        }
        let mut merged: Vec<Value> = original.iter().chain(patch.iter()).cloned().collect();
        deduplicate(&mut merged);
        let (of_patch, of_server) = partition(merged, patch, key)?;
        return in_order(of_patch, of_server, patch, &original, kind, key);
    }
    if key.is_empty() {
        return None;
    }
    let (original, mut plain) = follow_directives(original, patch, key)?;
    let merged = merge_objects(&original, &mut plain, items, key)?;
    let patch: Vec<Value> = plain.into_iter().map(|item| item.clone()).collect();
    let (of_patch, of_server) = partition(merged, &patch, key)?;
    in_order(of_patch, of_server, &patch, &original, kind, key)
}

/// Deletes the items that the patch deletes. If it replaces the list, its items are the original and nothing is left to
/// merge.
fn follow_directives<'p>(
    mut original: Vec<Value>,
    patch: &'p mut [Value],
    key: &str,
) -> Option<(Vec<Value>, Vec<&'p mut Value>)> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for item in patch {
        match item.get(DIRECTIVE).map(Value::as_str) {
            None => plain.push(item),
            Some(Some("delete")) => {
                let value = item.get(key)?;
                original.retain(|other| other.get(key) != Some(value));
            }
            Some(Some("replace")) => replaces = true,
            Some(_) => return None,
        }
    }
    Some(if replaces {
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
) -> Option<Vec<Value>> {
    let mut merged = original.to_vec();
    for item in patch {
        let found = position(&merged, key, item.get(key)?);
        match (found.and_then(|at| merged.get_mut(at)), &mut **item) {
            (Some(old), Value::Object(change)) => {
                let fields = old.as_object().cloned().unwrap_or_default();
                *old = Value::Object(merge_map(fields, change, items)?);
            }
            (_, item) => merged.push(item.clone()),
        }
    }
    Some(merged)
}
