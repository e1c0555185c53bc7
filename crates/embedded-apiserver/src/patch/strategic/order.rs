//! The order of merged lists.

use serde_json::Value;

use crate::patch::go_text;

use super::Failure;
use super::directives::deletes;
use super::lists::{object, position};

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
                Some(first) if go_text::type_of(first) != go_text::type_of(item) => {
                    let all: Vec<Value> = lists.iter().map(|list| Value::Array(list.to_vec())).collect();
                    let all = go_text::plain(&Value::Array(all));
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

/// Separates the items that are in `others` from the rest.
pub(super) fn partition(
    items: Vec<Value>,
    others: &[Value],
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Failure> {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for item in items {
        let found = if key.is_empty() {
            others.contains(&item)
        } else {
            let fields = object(&item)?;
            let value = fields.get(key).ok_or_else(|| Failure::no_merge_key(fields, key))?;
            position(others, key, value)?.is_some()
        };
        if found { inside.push(item) } else { outside.push(item) }
    }
    Ok((inside, outside))
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
) -> Result<Vec<Value>, Failure> {
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
    Ok(merged)
}

/// Sorts by the position in `order`. Items that delete come last.
fn sorted(items: Vec<Value>, order: &[Value], kind: Items, key: &str) -> Result<Vec<Value>, Failure> {
    if kind == Items::Scalars {
        let mut items = items;
        items.sort_by_cached_key(|item| index(order, item, kind, key));
        return Ok(items);
    }
    for item in items.iter().chain(order) {
        let fields = object(item)?;
        if !fields.contains_key(key) {
            return Err(Failure::no_merge_key(fields, key));
        }
    }
    let (mut kept, deleted) = separate_deletes(&items)?;
    kept.sort_by_cached_key(|item| index(order, item, kind, key));
    Ok(kept.into_iter().chain(deleted).cloned().collect())
}

fn index(order: &[Value], item: &Value, kind: Items, key: &str) -> Option<usize> {
    match kind {
        Items::Scalars => order.iter().position(|other| other == item),
        Items::Objects => order.iter().position(|other| other.get(key) == item.get(key)),
    }
}

/// The items that stay, and those that delete their namesakes.
pub(super) fn separate_deletes(items: &[Value]) -> Result<(Vec<&Value>, Vec<&Value>), Failure> {
    let (mut kept, mut deleted) = (Vec::new(), Vec::new());
    for item in items {
        if deletes(object(item)?) { deleted.push(item) } else { kept.push(item) }
    }
    Ok((kept, deleted))
}
