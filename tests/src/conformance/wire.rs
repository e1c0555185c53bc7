//! Protobuf without a schema, so that the comparison does not depend on the schema of the server under test.

use kube_protobuf::{Fields, Unknown, Value};
use scripted_api::wire::{field, varint};

use super::tree::Tree;

/// The first bytes of an object in protobuf.
const MAGIC: &[u8] = b"k8s\0";

/// An object with its envelope as a tree: field numbers are the keys, strings of an object's metadata are found by number.
pub(crate) fn object(bytes: &[u8]) -> Result<Tree, String> {
    let unknown = Unknown::parse(bytes).map_err(|error| error.to_string())?;
    let envelope =
        message(bytes.strip_prefix(MAGIC).unwrap_or_default(), 0).ok_or("the envelope is not protobuf")?;
    let raw = message(unknown.raw, 0).ok_or("the object is not protobuf")?;
    let Tree::Object(mut fields) = envelope else { return Err("the envelope is not a message".to_owned()) };
    for (key, value) in &mut fields {
        if key == "2" {
            *value = named(unknown.kind, raw.clone());
        }
    }
    Ok(Tree::Object(fields))
}

/// Names the metadata of an object, of a list and of its items, so that they are canonicalised as in JSON.
fn named(kind: &str, mut tree: Tree) -> Tree {
    let list = kind.ends_with("List");
    if let Tree::Object(fields) = &mut tree {
        for (key, value) in fields {
            if key == "1" && (list || matches!(kind, "Status" | "Table")) {
                rename(value, &[("2", "resourceVersion"), ("3", "continue"), ("4", "remainingItemCount")]);
                "metadata".clone_into(key);
            } else if key == "1" {
                metadata(value);
                "metadata".clone_into(key);
            } else if key == "2"
                && list
                && let Tree::Object(item) = value
            {
                for (key, value) in item.iter_mut().filter(|(key, _)| key == "1") {
                    metadata(value);
                    "metadata".clone_into(key);
                }
            }
        }
    }
    tree
}

fn metadata(tree: &mut Tree) {
    rename(tree, &[("1", "name"), ("5", "uid"), ("6", "resourceVersion")]);
}

fn rename(tree: &mut Tree, names: &[(&str, &str)]) {
    let Tree::Object(fields) = tree else { return };
    for (key, _) in fields {
        if let Some((_, name)) = names.iter().find(|(number, _)| number == key) {
            (*name).clone_into(key);
        }
    }
}

/// A frame of a watch: type and object.
pub(crate) fn event(frame: &[u8]) -> Result<(String, Tree), String> {
    let mut kind = String::new();
    let mut tree = Tree::Null;
    let mut fields = Fields::new("WatchEvent", frame);
    while let Some((number, value)) = fields.next_field().map_err(|error| error.to_string())? {
        match (number, value) {
            (1, Value::Bytes(bytes)) => kind = String::from_utf8_lossy(bytes).into_owned(),
            (2, Value::Bytes(bytes)) => {
                let mut extension = Fields::new("RawExtension", bytes);
                while let Some((_, value)) = extension.next_field().map_err(|error| error.to_string())? {
                    if let Value::Bytes(bytes) = value {
                        tree = object(bytes)?;
                    }
                }
            }
            _ => return Err(format!("field {number} of a watch event")),
        }
    }
    Ok((kind, tree))
}

/// Deeper than any message of the API.
const DEPTH: usize = 60;

/// A message, if the bytes can be one.
fn message(bytes: &[u8], depth: usize) -> Option<Tree> {
    if depth > DEPTH {
        return None;
    }
    let mut tree = Vec::new();
    let mut fields = Fields::new("message", bytes);
    while let Some((number, value)) = fields.next_field().ok()? {
        let value = match value {
            Value::Varint(number) => Tree::Number(number.cast_signed().to_string()),
            Value::Fixed64(number) => Tree::Number(format!("{number}f64")),
            Value::Fixed32(number) => Tree::Number(format!("{number}f32")),
            Value::Bytes(bytes) => delimited(bytes, depth),
        };
        tree.push((number.to_string(), value));
    }
    Some(Tree::Object(tree))
}

/// A string or a message. Messages contain control characters: keys of their first fields or short lengths.
fn delimited(bytes: &[u8], depth: usize) -> Tree {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.bytes().any(|byte| byte < b' ' && !matches!(byte, b'\n' | b'\t'))
        && (!text.starts_with('\n') || text.is_empty())
    {
        return Tree::Text(text.to_owned());
    }
    if let Some(tree) = message(bytes, depth + 1) {
        return tree;
    }
    Tree::Text(String::from_utf8_lossy(bytes).escape_default().to_string())
}

/// Appends a field as it was read.
pub(crate) fn copy(out: &mut Vec<u8>, number: u32, value: Value<'_>) {
    match value {
        Value::Bytes(bytes) => field(out, number, bytes),
        Value::Varint(bits) => {
            varint(out, u64::from(number << 3));
            varint(out, bits);
        }
        Value::Fixed64(bits) => {
            varint(out, u64::from(number << 3 | 1));
            out.extend_from_slice(&bits.to_le_bytes());
        }
        Value::Fixed32(bits) => {
            varint(out, u64::from(number << 3 | 5));
            out.extend_from_slice(&bits.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_strings_are_told_apart() {
        // ObjectMeta {name: "a", uid: "u"} in an object with field 2 = "text".
        let object = b"\x0a\x06\x0a\x01a\x2a\x01u\x12\x04text";
        let mut copied = Vec::new();
        let mut fields = Fields::new("object", object);
        while let Some((number, value)) = fields.next_field().unwrap() {
            copy(&mut copied, number, value);
        }
        assert_eq!(copied, object);
        assert_eq!(message(object, 0).unwrap().print(), r#"{"1":{"1":"a","5":"u"},"2":"text"}"#);
    }
}
