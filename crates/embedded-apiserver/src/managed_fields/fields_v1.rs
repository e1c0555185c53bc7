//! `FieldsV1`: sets as JSON objects, whose keys are elements.

use serde_json::{Map, Value};

use super::element::{Element, Unreadable};
use super::set::{Node, Set};

/// Reads a set. Elements of unknown types are left out, as upstream does.
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
