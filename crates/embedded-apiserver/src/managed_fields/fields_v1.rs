//! `FieldsV1`: sets as JSON objects, whose keys are elements.

use serde_json::{Map, Value};

use super::element::Element;
use super::set::{Node, Set};

/// Reads a set. Elements of unknown types are left out, as upstream does. `None` if a key is no element, or a value no object.
pub(crate) fn decode(fields: &Value) -> Option<Set<'_>> {
    decode_below(fields).map(|(set, _)| set)
}

/// The set below a node, and whether the node itself is a member: it says so with `.`, or has nothing else to say.
fn decode_below(fields: &Value) -> Option<(Set<'_>, bool)> {
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null => return Some((Set::default(), true)),
        _ => return None,
    };
    let mut member = false;
    let mut nodes = Vec::with_capacity(fields.len());
    for (key, below) in fields {
        if key == "." {
            member = true;
        } else if let Some(element) = Element::parse(key)? {
            let (children, member) = decode_below(below)?;
            nodes.push(Node { element, member, children });
        }
    }
    let set = Set::from_nodes(nodes);
    member |= set.is_empty();
    Some((set, member))
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
