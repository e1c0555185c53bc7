//! Items of lists and their keys.

use std::mem::discriminant;

use serde_json::Value;

/// The items of a list that is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    Objects,
    Scalars,
}

impl Items {
    /// The kind of all items of these lists. None if there are no items, or of several types, or lists.
    pub(super) fn of(lists: &[&[Value]]) -> Option<Self> {
        let mut items = lists.iter().copied().flatten();
        let first = items.next()?;
        let is_same = items.all(|item| discriminant(item) == discriminant(first));
        let kind = if first.is_object() { Self::Objects } else { Self::Scalars };
        (is_same && !first.is_array()).then_some(kind)
    }
}

/// True if two items have the same key; scalars are their own keys. None if one lacks it.
pub(super) fn same_key(a: &Value, b: &Value, key: &str) -> Option<bool> {
    Some(if key.is_empty() { a == b } else { a.get(key)? == b.get(key)? })
}

/// The first item with this value of the key.
pub(super) fn position(items: &[Value], key: &str, value: &Value) -> Option<usize> {
    items.iter().position(|item| item.get(key) == Some(value))
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
