//! JSON merge patch (RFC 7386), as evanphx/json-patch does it.

use crate::status::Status;

use super::document::{Fields, Node, array, check_depth, object};

/// The object with a merge patch applied: null deletes a field, objects are merged, anything else replaces. What the patch
/// does not touch keeps its order.
///
/// # Errors
/// 400 if the patch is neither an object nor a list, or nests too deep. A list replaces the object, and the decoder of the
/// type refuses it.
pub(crate) fn merge(original: &str, patch: &str) -> Result<String, Status> {
    check_depth(patch)?;
    let mut merged = match (object(original), object(patch)) {
        (Some(mut original), Some(patch)) => {
            merge_fields(&mut original, patch);
            return Ok(Node::Object(original).into_text());
        }
        (None, Some(patch)) => Node::Object(patch),
        (_, None) => Node::Array(array(patch).ok_or_else(|| Status::bad_request("Invalid JSON Patch"))?),
    };
    drop_nulls(&mut merged);
    Ok(merged.into_text())
}

fn merge_fields<'a>(original: &mut Fields<'a>, patch: Fields<'a>) {
    for (name, mut change) in patch {
        if matches!(change, Node::Null) {
            original.remove(&name);
            continue;
        }
        change.open();
        match original.get_mut(&name) {
            None | Some(Node::Null) => {
                drop_nulls(&mut change);
                original.insert(name, change);
            }
            Some(place) => merge_value(place, change),
        }
    }
}

fn merge_value<'a>(place: &mut Node<'a>, change: Node<'a>) {
    place.open();
    match (&mut *place, change) {
        (Node::Object(fields), Node::Object(changes)) => merge_fields(fields, changes),
        // RFC 7386 has no such case: a list that replaces an object keeps its nulls, any other is cleaned
        (Node::Object(_), list) => *place = list,
        (_, mut change) => {
            drop_nulls(&mut change);
            *place = change;
        }
    }
}

/// Drops fields that are null. Nulls in lists stay.
fn drop_nulls(value: &mut Node<'_>) {
    value.open();
    match value {
        Node::Object(fields) => {
            fields.retain(|_, field| !matches!(field, Node::Null));
            fields.values_mut().for_each(drop_nulls);
        }
        Node::Array(items) => items.iter_mut().for_each(drop_nulls),
        Node::Null | Node::Raw(_) => {}
    }
}
