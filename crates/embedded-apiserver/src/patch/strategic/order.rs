//! The order of merged lists.

use serde_json::Value;

use super::directives::{DIRECTIVE, deletes};
use super::items::{Items, position, same_key};

/// Checks that a list of the patch has the order of its `$setElementOrder`.
pub(super) fn check_order(patch: &[Value], order: &[Value], key: &str) -> Option<()> {
    if patch.is_empty() || order.is_empty() {
        return Some(());
    }
    let mut left = patch.iter().filter(|item| key.is_empty() || !deletes(item)).peekable();
    for place in order {
        // items with directives have no place; upstream does not look past the end of the order
        while left.next_if(|item| item.get(DIRECTIVE).is_some()).is_some() {}
        let Some(item) = left.peek() else { break };
        if same_key(item, place, key)? {
            left.next();
        }
    }
    left.peek().is_none().then_some(())
}

/// Separates the items that are in `others` from the rest.
pub(super) fn partition(items: Vec<Value>, others: &[Value], key: &str) -> Option<(Vec<Value>, Vec<Value>)> {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for item in items {
        let found = if key.is_empty() {
            others.contains(&item)
        } else {
            position(others, key, item.get(key)?).is_some()
        };
        if found { inside.push(item) } else { outside.push(item) }
    }
    Some((inside, outside))
}

/// The items of the patch and of the server, each in its order, with the former between the latter where both had a place
/// before.
pub(super) fn in_order(
    of_patch: Vec<Value>,
    of_server: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    kind: Items,
    key: &str,
) -> Option<Vec<Value>> {
    let of_patch = sorted(of_patch, patch_order, kind, key)?;
    let of_server = sorted(of_server, server_order, kind, key)?;
    let place = |item: &Value| index(server_order, item, kind, key);
    let mut merged = Vec::with_capacity(of_patch.len() + of_server.len());
    let mut left = of_server.into_iter().peekable();
    for item in of_patch {
        let own = place(&item);
        while let (Some(own), Some(other)) = (own, left.peek().and_then(place)) {
            if other >= own {
                break;
            }
            merged.extend(left.next());
        }
        merged.push(item);
    }
    merged.extend(left);
    Some(merged)
}

/// Sorts by the position in `order`. Items that delete come last.
fn sorted(items: Vec<Value>, order: &[Value], kind: Items, key: &str) -> Option<Vec<Value>> {
    if kind == Items::Scalars {
        return Some(by_position(items, |item| index(order, item, kind, key)));
    }
    if items.iter().chain(order).any(|item| item.get(key).is_none()) {
        return None;
    }
    let (deleted, kept): (Vec<_>, Vec<_>) = items.into_iter().partition(deletes);
    let kept = by_position(kept, |item| index(order, item, kind, key));
    Some(kept.into_iter().chain(deleted).collect())
}

/// Sorts as upstream's comparison does, to which an item without a position comes before and after all others. Without
/// such items, this is the usual order; with them, it is that of an insertion sort.
fn by_position<T>(items: Vec<T>, position: impl Fn(&T) -> Option<usize>) -> Vec<T> {
    let mut placed: Vec<(Option<usize>, T)> = items.into_iter().map(|item| (position(&item), item)).collect();
    if placed.iter().all(|(at, _)| at.is_some()) {
        placed.sort_by_key(|(at, _)| *at);
        return placed.into_iter().map(|(_, item)| item).collect();
    }
    let mut sorted: Vec<(Option<usize>, T)> = Vec::with_capacity(placed.len());
    for item in placed {
        let precedes = |other: &(Option<usize>, T)| match (item.0, other.0) {
            (Some(at), Some(other)) => at < other,
            _ => true,
        };
        let behind = sorted.iter().rev().take_while(|other| precedes(other)).count();
        sorted.insert(sorted.len() - behind, item);
    }
    sorted.into_iter().map(|(_, item)| item).collect()
}

fn index(order: &[Value], item: &Value, kind: Items, key: &str) -> Option<usize> {
    match kind {
        Items::Scalars => order.iter().position(|other| other == item),
        Items::Objects => order.iter().position(|other| other.get(key) == item.get(key)),
    }
}

/// The order of the server's items, as upstream finds it after the merge: added items have taken the places that deletions
/// left free in the slice.
pub(super) fn order_after(old: Vec<Value>, patch: &[Value], key: &str) -> Vec<Value> {
    let mut added = Vec::new();
    let mut order = old;
    let length = order.len();
    for item in patch {
        let Some(value) = item.get(key) else { continue };
        if deletes(item) {
            order.retain(|other| other.get(key) != Some(value));
        } else if item.get(DIRECTIVE).is_none() {
            added.push((value, item));
        } else {
            // the list is replaced
            return order;
        }
    }
    for (value, item) in added {
        if order.len() < length && position(&order, key, value).is_none() {
            order.push(item.clone());
        }
    }
    order
}
