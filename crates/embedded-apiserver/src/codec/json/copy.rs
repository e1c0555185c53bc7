//! Tree to tree, for trees that fit their type.

use serde_json::{Map, Value};

use crate::codec::quantity;
use crate::codec::time::{self, Layout};
use crate::schema::{Node, Shape, Type};

/// Untyped values that are nested deeper are left to the decoder, which limits the depth.
const MAX_DEPTH: usize = 100;

/// The tree that [`decode`](super::decode) reads from the text of this one. `None` if it would have something to say about
/// it, or if reading changes numbers.
///
/// Cost: one pass; nesting is limited by that of the types.
pub(super) fn copy(of: &'static Type, tree: &Value) -> Option<Value> {
    object(of, tree.as_object()?)
}

fn object(of: &'static Type, fields: &Map<String, Value>) -> Option<Value> {
    let mut map = Map::new();
    let mut seen = 0_u64;
    for (name, value) in fields {
        let position = of.position(name)?;
        let field = of.fields.get(position)?;
        seen |= 1 << position;
        let value = node(&field.node, value)?;
        if !field.omits(&value) {
            map.insert(field.json.to_owned(), value);
        }
    }
    for &position in &of.always {
        if seen & (1 << position) == 0
            && let Some(field) = of.fields.get(position)
        {
            map.insert(field.json.to_owned(), field.node.zero());
        }
    }
    Some(Value::Object(map))
}

fn node(of: &'static Node, value: &Value) -> Option<Value> {
    Some(match (&of.shape, value) {
        (Shape::List(_) | Shape::Items(_) | Shape::Map(_), Value::Null) => Value::Null,
        (_, Value::Null) => of.zero(),
        (Shape::String | Shape::IntOrString, Value::String(_)) | (Shape::Bool, Value::Bool(_)) => {
            value.clone()
        }
        (Shape::Int32 | Shape::IntOrString, Value::Number(number)) => {
            Value::from(i32::try_from(number.as_i64()?).ok()?)
        }
        (Shape::Int64, Value::Number(number)) => Value::from(number.as_i64()?),
        (Shape::Time, Value::String(text)) => moment(Layout::Seconds, text)?,
        (Shape::MicroTime, Value::String(text)) => moment(Layout::Micros, text)?,
        (Shape::Quantity, Value::String(text)) => Value::String(quantity::canonical(text).ok()?.into_owned()),
        (Shape::Struct(inner), Value::Object(fields)) => object(inner.get(), fields)?,
        (Shape::List(item) | Shape::Items(item), Value::Array(items)) => {
            Value::Array(items.iter().map(|value| node(item, value)).collect::<Option<_>>()?)
        }
        (Shape::Map(item), Value::Object(fields)) => {
            let fields = fields.iter().map(|(name, value)| Some((name.clone(), node(item, value)?)));
            Value::Object(fields.collect::<Option<_>>()?)
        }
        (Shape::FieldsV1 | Shape::RawExtension, _) if stays(value, 0) => value.clone(),
        _ => return None,
    })
}

fn moment(layout: Layout, text: &str) -> Option<Value> {
    let moment = time::parse(layout, text).ok()?.rounded(layout);
    Some(if moment.is_zero() { Value::Null } else { Value::String(time::to_string(layout, moment)) })
}

/// True if an untyped value is the same when it is read again: its numbers are int64.
fn stays(value: &Value, depth: usize) -> bool {
    match value {
        Value::Number(number) => number.is_i64(),
        Value::Array(items) => depth < MAX_DEPTH && items.iter().all(|item| stays(item, depth + 1)),
        Value::Object(fields) => depth < MAX_DEPTH && fields.values().all(|field| stays(field, depth + 1)),
        _ => true,
    }
}
