//! The text of `FieldsV1` as structured-merge-diff writes it.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Writes a set of fields with its keys in the order of structured-merge-diff: `.`, then names of fields, keys of list items
/// (compared by their values), values, and indexes.
pub(super) fn to_vec(set: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write(&mut out, set, 0);
    out
}

/// Sets are as deep as the objects that they describe; deeper ones are cut off.
const MAX_DEPTH: usize = 128;

fn write(out: &mut Vec<u8>, set: &Value, depth: usize) {
    let Some(map) = set.as_object().filter(|_| depth < MAX_DEPTH) else {
        out.extend_from_slice(set.to_string().as_bytes());
        return;
    };
    let mut entries: Vec<_> = map.iter().collect();
    // byte order is right except between the keys of list items
    if entries.iter().any(|(key, _)| key.starts_with("k:") || key.starts_with("v:") || key.starts_with("i:"))
    {
        entries.sort_by(|(a, _), (b, _)| compare(a, b));
    }
    out.push(b'{');
    for (index, (key, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_key(out, key);
        out.push(b':');
        write(out, value, depth + 1);
    }
    out.push(b'}');
}

/// Writes a key as `serde_json` does, without its allocations: keys are most of a set.
pub(crate) fn write_key(out: &mut Vec<u8>, key: &str) {
    if key.bytes().any(|byte| byte < b' ') {
        out.extend_from_slice(Value::from(key).to_string().as_bytes());
        return;
    }
    out.push(b'"');
    let mut rest = key.as_bytes();
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        let (plain, special) = rest.split_at(end);
        out.extend_from_slice(plain);
        out.push(b'\\');
        out.extend(special.first());
        rest = special.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn compare(a: &str, b: &str) -> Ordering {
    if is_plain(a) && is_plain(b) {
        // The end of a text comes before any of its characters.
        let order = |byte: u8| if byte == b'"' { 0 } else { byte };
        return rank(a).cmp(&rank(b)).then_with(|| a.bytes().map(order).cmp(b.bytes().map(order)));
    }
    rank(a).cmp(&rank(b)).then_with(|| match (a.get(..2), a.get(2..), b.get(2..)) {
        (Some("k:" | "v:" | "i:"), Some(x), Some(y)) => {
            match (serde_json::from_str(x), serde_json::from_str(y)) {
                (Ok(x), Ok(y)) => order(&x, &y),
                _ => a.cmp(b),
            }
        }
        _ => a.cmp(b),
    })
}

/// True if a key is a field, or the keys or value of a list item without numbers and escapes: then its bytes are in order.
fn is_plain(key: &str) -> bool {
    key.starts_with("f:")
        || key == "."
        || key.starts_with(['k', 'v'])
            && !key.contains('\\')
            && !key.as_bytes().windows(2).any(|pair| matches!(pair, [b':', b'-' | b'0'..=b'9']))
}

fn rank(key: &str) -> u8 {
    match key.get(..2) {
        None => 0,
        Some("f:") => 1,
        Some("k:") => 2,
        Some("v:") => 3,
        Some(_) => 4,
    }
}

/// The order of structured-merge-diff's values: numbers, strings, booleans, lists, maps, null.
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let by = a.iter().zip(b).map(|(a, b)| order(a, b)).find(|by| by.is_ne());
            by.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let by = a
                .iter()
                .zip(b)
                .map(|(a, b)| a.0.cmp(b.0).then_with(|| order(a.1, b.1)))
                .find(|by| by.is_ne());
            by.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => rank_of(a).cmp(&rank_of(b)),
    }
}

/// The order of two numbers.
pub(crate) fn order_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal)
}

fn rank_of(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

#[cfg(test)]
mod tests;
