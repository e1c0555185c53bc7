//! Reading single fields of encoded objects.

use kube_protobuf::{Fields, Value};

const METADATA: u32 = 1;
const LABELS: u32 = 11;

/// The `ObjectMeta` of an object; empty if it has none.
pub(super) fn metadata(body: &[u8]) -> &[u8] {
    bytes(body, METADATA).unwrap_or_default()
}

/// The value of a label.
pub(super) fn label<'a>(metadata: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut fields = Fields::new("ObjectMeta", metadata);
    while let Ok(Some((number, value))) = fields.next_field() {
        if number > LABELS {
            break;
        }
        if let (LABELS, Value::Bytes(entry)) = (number, value)
            && bytes(entry, 1).unwrap_or_default() == key
        {
            return Some(bytes(entry, 2).unwrap_or_default());
        }
    }
    None
}

/// The value at a path of field numbers.
pub(super) fn value_at<'a>(message: &'a [u8], path: &[u32]) -> Option<Value<'a>> {
    let (last, outer) = path.split_last()?;
    let mut message = message;
    for number in outer {
        message = bytes(message, *number)?;
    }
    first(message, *last)
}

/// The text at a path of field numbers.
pub(crate) fn text_at<'a>(message: &'a [u8], path: &[u32]) -> Option<&'a [u8]> {
    match value_at(message, path)? {
        Value::Bytes(text) => Some(text),
        _ => None,
    }
}

fn bytes(message: &[u8], number: u32) -> Option<&[u8]> {
    match first(message, number)? {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// The first field of a number. Messages are in order, so that a greater number ends the search.
fn first(message: &[u8], wanted: u32) -> Option<Value<'_>> {
    let mut fields = Fields::new("message", message);
    while let Ok(Some((number, value))) = fields.next_field() {
        if number == wanted {
            return Some(value);
        }
        if number > wanted {
            break;
        }
    }
    None
}
