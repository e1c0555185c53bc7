//! `FieldsV1`: sets as JSON objects, whose keys are elements.

use serde_json::{Map, Value};

use super::element::{Element, Unreadable};
use super::set::{Node, Set};
use crate::codec::fields_v1::write_key;

/// Reads a set. Elements of unknown types are left out, as upstream does.
///
/// # Errors
/// A key is no element, or a value no object.
pub(crate) fn decode(fields: &Value) -> Result<Set<'_>, Unreadable> {
    decode_below(fields).map(|(set, _)| set)
}

/// The set below a node, and whether the node itself is a member: it says so with `.`, or has nothing else to say.
fn decode_below(fields: &Value) -> Result<(Set<'_>, bool), Unreadable> {
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null => return Ok((Set::default(), true)),
        _ => return Err(Unreadable::Malformed),
    };
    let mut member = false;
    let mut nodes = Vec::with_capacity(fields.len());
    for (key, below) in fields {
        if key == "." {
            member = true;
            continue;
        }
        let element = match Element::parse(key) {
            Ok(element) => element,
            Err(Unreadable::UnknownType) => continue,
            Err(Unreadable::Malformed) => return Err(Unreadable::Malformed),
        };
        let (children, member) = decode_below(below)?;
        nodes.push(Node { element, member, children });
    }
    let set = Set::from_nodes(nodes);
    member |= set.is_empty();
    Ok((set, member))
}

/// Writes a set.
pub(crate) fn encode(set: &Set<'_>) -> Value {
    Value::Object(set.nodes().iter().map(|node| (node.element.encode(), encode_node(node))).collect())
}

fn encode_node(node: &Node<'_>) -> Value {
    let below = node.children.nodes().iter().map(|child| (child.element.encode(), encode_node(child)));
    let own = (node.member && !node.children.is_empty()).then(|| (".".to_owned(), Value::Object(Map::new())));
    Value::Object(own.into_iter().chain(below).collect())
}

/// Writes a set as the text that protobuf holds. The order of elements is that of the keys.
pub(crate) fn to_vec(set: &Set<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    write_nodes(set, false, &mut out);
    out
}

fn write_nodes(set: &Set<'_>, member: bool, out: &mut Vec<u8>) {
    let mut separator = b'{';
    if member && !set.is_empty() {
        out.extend_from_slice(b"{\".\":{}");
        separator = b',';
    }
    for node in set.nodes() {
        out.push(separator);
        separator = b',';
        write_element(&node.element, out);
        out.push(b':');
        write_nodes(&node.children, node.member, out);
    }
    if separator == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
}

fn write_element(element: &Element<'_>, out: &mut Vec<u8>) {
    match element {
        // Nothing to escape, as in all names of the types.
        Element::Field(name) if name.bytes().all(|byte| byte >= b' ' && !matches!(byte, b'"' | b'\\')) => {
            out.extend_from_slice(b"\"f:");
            out.extend_from_slice(name.as_bytes());
            out.push(b'"');
        }
        other => write_key(out, &other.encode()),
    }
}

/// Adds the paths of a set to one that is written.
pub(crate) fn add(fields: &mut Map<String, Value>, set: &Set<'_>) {
    for node in set.nodes() {
        match fields.get_mut(&node.element.encode()) {
            Some(Value::Object(below)) => {
                let member = below.is_empty() || below.contains_key(".") || node.member;
                add(below, &node.children);
                if member && !below.is_empty() {
                    below.insert(".".to_owned(), Value::Object(Map::new()));
                }
            }
            _ => drop(fields.insert(node.element.encode(), encode_node(node))),
        }
    }
}

/// Removes the paths of a set from one that is written, but not the paths below them. Returns whether there were any.
pub(crate) fn subtract(fields: &mut Map<String, Value>, set: &Set<'_>) -> bool {
    let mut changed = false;
    for node in set.nodes() {
        let key = node.element.encode();
        let Some(Value::Object(below)) = fields.get_mut(&key) else { continue };
        let alone = below.is_empty();
        if alone {
            if node.member {
                fields.remove(&key);
                changed = true;
            }
            continue;
        }
        let mut member = below.contains_key(".");
        if node.member && member {
            below.remove(".");
            member = false;
            changed = true;
        }
        changed |= subtract(below, &node.children);
        if below.is_empty() && !member {
            fields.remove(&key);
        } else if member && below.len() == 1 {
            // only the mark is left: a member without anything below it
            below.clear();
        }
    }
    changed
}
