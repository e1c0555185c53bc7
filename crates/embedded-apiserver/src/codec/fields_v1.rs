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
    let mut entries: Vec<_> = map.iter().map(|(key, value)| (Key::of(key), value)).collect();
    entries.sort_by(|(a, _), (b, _)| a.compare(b));
    out.push(b'{');
    for (index, (Key { text: key, .. }, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(Value::from(key).to_string().as_bytes());
        out.push(b':');
        write(out, value, depth + 1);
    }
    out.push(b'}');
}

struct Key<'a> {
    text: &'a str,
    rank: u8,
    /// The value of what comes after names, unless a client made it up.
    value: Option<Value>,
}

impl<'a> Key<'a> {
    fn of(text: &'a str) -> Self {
        let rank = match text.get(..2) {
            None => 0,
            Some("f:") => 1,
            Some("k:") => 2,
            Some("v:") => 3,
            Some(_) => 4,
        };
        let value = || serde_json::from_str(text.get(2..).unwrap_or_default()).ok();
        Self { text, rank, value: (rank > 1).then(value).flatten() }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_value = match (&self.value, &other.value) {
            (Some(a), Some(b)) => order(a, b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        self.rank.cmp(&other.rank).then(by_value).then_with(|| self.text.cmp(other.text))
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
