//! The text of `FieldsV1` as structured-merge-diff writes it.

use std::cmp::Ordering;

use serde_json::Value;

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
        out.extend_from_slice(Value::from(key.as_str()).to_string().as_bytes());
        out.push(b':');
        write(out, value, depth + 1);
    }
    out.push(b'}');
}

fn compare(a: &str, b: &str) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| match (a.get(..2), a.get(2..), b.get(2..)) {
        (Some("k:" | "v:" | "i:"), Some(x), Some(y)) => {
            match (serde_json::from_str(x), serde_json::from_str(y)) {
                (Ok(x), Ok(y)) => compare_values(&x, &y),
                _ => a.cmp(b),
            }
        }
        _ => a.cmp(b),
    })
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

/// Numbers before strings before booleans; maps by their entries in the order of their keys.
fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            x.as_f64().partial_cmp(&y.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Value::String(x), Value::String(y)) => x.cmp(y),
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Object(x), Value::Object(y)) => {
            let pairs = x.iter().zip(y).map(|((a, x), (b, y))| a.cmp(b).then_with(|| compare_values(x, y)));
            pairs.fold(Ordering::Equal, Ordering::then).then(x.len().cmp(&y.len()))
        }
        _ => kind(a).cmp(&kind(b)),
    }
}

fn kind(value: &Value) -> u8 {
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
mod tests {
    use super::*;

    #[test]
    fn keys_of_list_items_are_compared_by_value() {
        let set = serde_json::json!({
            "k:{\"port\":443,\"protocol\":\"TCP\"}": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {},
            "f:b": {"v:\"x\"": {}, "v:10": {}, "v:9": {}}, ".": {}, "f:a<b": {},
        });
        assert_eq!(
            String::from_utf8(to_vec(&set)).unwrap(),
            r#"{".":{},"f:a<b":{},"f:b":{"v:9":{},"v:10":{},"v:\"x\"":{}},"k:{\"port\":80,\"protocol\":\"TCP\"}":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{}}"#
        );
    }
}
