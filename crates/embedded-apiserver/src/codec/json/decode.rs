//! Tree to canonical tree, as Go decodes JSON into a typed object.

use serde_json::{Map, Number, Value};

use super::place::{Place, Step, json_type_of};
use crate::codec::error::DecodeError;
use crate::codec::quantity;
use crate::codec::time::{self, Layout};
use crate::schema::{Node, Shape, Type};

/// The parameter `fieldValidation` of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    /// Unknown fields are not looked for.
    Ignore,
    /// They become `Warning` headers; the default of the server.
    #[default]
    Warn,
    /// They fail the request.
    Strict,
}

/// More problems are not recorded.
const MAX_PROBLEMS: usize = 100;

/// Decodes the JSON of an object to the canonical tree of its type. Names are case-sensitive; null is the zero value.
///
/// Returns Go's words about unknown fields too, in the order of their names, and none with [`FieldValidation::Ignore`].
/// Errors: a value that does not fit its field, a malformed quantity or time, in Go's words.
pub(crate) fn decode(
    of: &'static Type,
    tree: Value,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), DecodeError> {
    let strict = validation != FieldValidation::Ignore;
    let mut decoder = Decoder { strict, problems: Vec::new(), mismatch: None };
    let object = match tree {
        Value::Object(fields) => decoder.object(of, fields, &Place::ROOT)?,
        Value::Null => of.zero(),
        _ => return Err(DecodeError("no JSON object".to_owned())),
    };
    match decoder.mismatch {
        Some(text) => Err(DecodeError(text)),
        None => Ok((object, decoder.problems)),
    }
}

struct Decoder {
    /// True if unknown fields are recorded.
    strict: bool,
    problems: Vec<String>,
    /// The first value that did not fit. Decoding goes on, because a malformed quantity or time takes precedence.
    mismatch: Option<String>,
}

impl Decoder {
    fn object(
        &mut self,
        of: &'static Type,
        fields: Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<Value, DecodeError> {
        let mut map = Map::new();
        for (key, value) in fields {
            let Some(field) = of.field(&key) else {
                if self.strict && self.problems.len() < MAX_PROBLEMS {
                    self.problems.push(place.unknown(&key));
                }
                continue;
            };
            let value = self.value(&field.node, value, &place.then(Step::Field(of.name, field)))?;
            if !field.omits(&value) {
                map.insert(key, value);
            }
        }
        Ok(of.complete(map))
    }

    fn value(&mut self, of: &'static Node, value: Value, place: &Place<'_>) -> Result<Value, DecodeError> {
        Ok(match (&of.shape, value) {
            (_, Value::Null) => of.zero(),
            (Shape::String, value @ Value::String(_))
            | (Shape::Bool, value @ Value::Bool(_))
            | (Shape::FieldsV1, value) => value,
            (Shape::Int32 | Shape::Int64, Value::Number(number)) => match integer(&of.shape, &number) {
                Some(value) => value.into(),
                None => self.misfit(of, place, &format!("number {number}")),
            },
            (Shape::Struct(inner), Value::Object(fields)) => self.object(inner.get(), fields, place)?,
            (Shape::List(item) | Shape::Items(item), Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                let decoded = items.map(|(at, value)| self.value(item, value, &place.then(Step::Index(at))));
                Value::Array(decoded.collect::<Result<_, _>>()?)
            }
            (Shape::Map(item), Value::Object(fields)) => {
                let mut map = Map::new();
                for (key, value) in fields {
                    let value = self.value(item, value, &place.then(Step::Key(&key)))?;
                    map.insert(key, value);
                }
                Value::Object(map)
            }
            (Shape::Time, value) => moment(Layout::Seconds, &value, place)?,
            (Shape::MicroTime, value) => moment(Layout::Micros, &value, place)?,
            (Shape::Quantity, value) => amount(&value)?,
            (Shape::IntOrString, value) => int_or_string(value, place)?,
            (_, value) => self.misfit(of, place, json_type_of(&value)),
        })
    }

    /// Records a value that does not fit.
    fn misfit(&mut self, of: &Node, place: &Place<'_>, value: &str) -> Value {
        self.mismatch.get_or_insert_with(|| place.mismatch(value, &of.go));
        of.zero()
    }
}

/// The value of a number without fraction and exponent, if it is in range.
fn integer(shape: &Shape, number: &Number) -> Option<i64> {
    let value = number.as_i64()?;
    if matches!(shape, Shape::Int32) { i32::try_from(value).ok().map(i64::from) } else { Some(value) }
}

fn moment(layout: Layout, value: &Value, place: &Place<'_>) -> Result<Value, DecodeError> {
    let text = value.as_str().ok_or_else(|| DecodeError(place.mismatch(json_type_of(value), "string")))?;
    time::parse(layout, text).map_err(DecodeError)
}

fn amount(value: &Value) -> Result<Value, DecodeError> {
    let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
    quantity::canonical(&text).map(Value::String).map_err(|error| DecodeError(error.to_owned()))
}

fn int_or_string(value: Value, place: &Place<'_>) -> Result<Value, DecodeError> {
    let wrong = match &value {
        Value::String(_) => return Ok(value),
        Value::Number(number) => match integer(&Shape::Int32, number) {
            Some(_) => return Ok(value),
            None => format!("number {number}"),
        },
        other => json_type_of(other).to_owned(),
    };
    Err(DecodeError(place.mismatch(&wrong, "int32")))
}
