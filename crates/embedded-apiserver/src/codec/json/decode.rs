//! A tree of JSON to the canonical tree of a type, as Go decodes into a typed object.

use serde_json::{Map, Number, Value};

use super::place::{FieldValidation, Place, Step, json_type_of};
use crate::codec::error::DecodeError;
use crate::codec::time::{self, Layout};
use crate::go;
use crate::schema::{Node, Shape, Type};

/// More unknown fields are not recorded.
const MAX_PROBLEMS: usize = 100;

/// Decodes a tree, such as a parsed body or the result of a patch, to the canonical tree of its type. Returns also Go's texts
/// about unknown fields, at most 100, and none with [`FieldValidation::Ignore`].
///
/// Names are case-sensitive; null keeps the zero value of what is no pointer, list or map. Quantities stay as they are spelled.
///
/// Cost: one pass.
/// Errors: A value that does not fit its field, or a malformed time, each in Go's words.
pub(crate) fn decode(
    of: &'static Type,
    tree: Value,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), DecodeError> {
    let strict = validation != FieldValidation::Ignore;
    let mut decoder = Decoder { strict, problems: Vec::new(), mismatch: None };
    let tree = match tree {
        Value::Object(fields) => decoder.object(of, fields, &Place::ROOT).map_err(DecodeError)?,
        Value::Null => of.zero(),
        other => {
            let package = of.path.rsplit('/').next().unwrap_or_default();
            return Err(DecodeError(Place::ROOT.mismatch(json_type_of(&other), package)));
        }
    };
    match decoder.mismatch {
        Some(text) => Err(DecodeError(text)),
        None => Ok((tree, decoder.problems)),
    }
}

struct Decoder {
    /// True if unknown fields are recorded.
    strict: bool,
    problems: Vec<String>,
    /// The first value that did not fit. Decoding goes on, because a malformed time takes precedence.
    mismatch: Option<String>,
}

/// Errors of types that decode themselves, which end decoding.
type Result<T, E = String> = std::result::Result<T, E>;

impl Decoder {
    fn object(&mut self, of: &'static Type, fields: Map<String, Value>, place: &Place<'_>) -> Result<Value> {
        let mut map = Map::new();
        let mut seen = 0_u64;
        for (key, value) in fields {
            let Some((position, field)) = of.position(&key).and_then(|at| Some((at, of.fields.get(at)?)))
            else {
                if self.strict && self.problems.len() < MAX_PROBLEMS {
                    self.problems.push(format!("unknown field {}", go::quote(&place.path_to(&key))));
                }
                continue;
            };
            seen |= 1 << position;
            let value = self.value(&field.node, value, &place.then(Step::Field(of.name, field)))?;
            if !field.omits(&value) {
                map.insert(key, value);
            }
        }
        for &position in &of.always {
            if seen & (1 << position) == 0
                && let Some(field) = of.fields.get(position)
            {
                map.insert(field.json.to_owned(), field.node.zero());
            }
        }
        Ok(Value::Object(map))
    }

    fn value(&mut self, of: &'static Node, value: Value, place: &Place<'_>) -> Result<Value> {
        Ok(match (&of.shape, value) {
            (Shape::List(_) | Shape::Items(_) | Shape::Map(_), Value::Null) => Value::Null,
            (_, Value::Null) => of.zero(),
            (Shape::String | Shape::IntOrString | Shape::Quantity, value @ Value::String(_))
            | (Shape::Bool, value @ Value::Bool(_))
            | (Shape::FieldsV1 | Shape::RawExtension, value) => value,
            (Shape::Int32 | Shape::Int64, Value::Number(number)) => match integer(&of.shape, &number) {
                Some(value) => Value::from(value),
                None => self.keep(of, place, &format!("number {number}")),
            },
            (Shape::Struct(inner), Value::Object(fields)) => self.object(inner.get(), fields, place)?,
            (Shape::List(item) | Shape::Items(item), Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                let items =
                    items.map(|(index, value)| self.value(item, value, &place.then(Step::Index(index))));
                Value::Array(items.collect::<Result<_>>()?)
            }
            (Shape::Map(item), Value::Object(fields)) => {
                let mut map = Map::new();
                for (key, value) in fields {
                    let value = self.value(item, value, &place.then(Step::Key(&key)))?;
                    map.insert(key, value);
                }
                Value::Object(map)
            }
            (Shape::Time | Shape::MicroTime | Shape::Quantity | Shape::IntOrString, value) => {
                native(of, &value, place)?
            }
            (_, value) => self.keep(of, place, json_type_of(&value)),
        })
    }

    /// Records a value that does not fit; the field keeps its zero value.
    fn keep(&mut self, of: &Node, place: &Place<'_>, value: &str) -> Value {
        self.mismatch.get_or_insert_with(|| place.mismatch(value, &of.go));
        of.zero()
    }
}

/// Types that decode themselves. Their errors end decoding.
fn native(of: &'static Node, value: &Value, place: &Place<'_>) -> Result<Value> {
    const QUANTITY: &str =
        r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    match (&of.shape, value) {
        (Shape::Quantity, Value::Number(number)) => Ok(Value::from(number.to_string())),
        (Shape::Quantity, _) => Err(QUANTITY.to_owned()),
        (Shape::IntOrString, Value::Number(number)) => {
            let value = integer(&Shape::Int32, number).map(Value::from);
            value.ok_or_else(|| place.mismatch(&format!("number {number}"), "int32"))
        }
        (Shape::IntOrString, other) => Err(place.mismatch(json_type_of(other), "int32")),
        (shape, Value::String(text)) => {
            let layout = if matches!(shape, Shape::MicroTime) { Layout::Micros } else { Layout::Seconds };
            let moment = time::parse(layout, text)?.rounded(layout);
            let is_zero = moment.is_zero();
            Ok(if is_zero { Value::Null } else { Value::String(time::to_string(layout, moment)) })
        }
        (_, other) => Err(place.mismatch(json_type_of(other), "string")),
    }
}

/// The value of a number without fraction and exponent, if it is in range.
fn integer(shape: &Shape, number: &Number) -> Option<i64> {
    let value = number.as_i64()?;
    if matches!(shape, Shape::Int32) { i32::try_from(value).ok().map(i64::from) } else { Some(value) }
}
