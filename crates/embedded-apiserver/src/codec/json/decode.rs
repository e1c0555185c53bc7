//! JSON to tree, as Go decodes into a typed object.

use serde_json::{Map, Value};

use super::place::{FieldValidation, Place, Problem, Step};
use super::reader::{Malformed, Reader, Token};
use crate::codec::error::DecodeError;
use crate::codec::quantity;
use crate::codec::time::{self, Layout};
use crate::schema::{Node, Shape, Type};

/// Decodes a body to the canonical tree of its type.
///
/// Names are case-sensitive; null keeps the zero value of what is no pointer, list or map; of duplicate fields the last one
/// counts, and objects are merged, as in Go. The problems are at most 100, in the order of the text, and none with
/// [`FieldValidation::Ignore`].
///
/// Cost: one pass. Nesting is limited to 500 levels.
///
/// # Errors
/// A text that is not JSON; a value that does not fit its field, a malformed quantity or time, each in Go's words.
pub(crate) fn decode(
    of: &'static Type,
    body: &[u8],
    validation: FieldValidation,
) -> Result<(Value, Vec<Problem>), DecodeError> {
    let strict = validation != FieldValidation::Ignore;
    let mut decoder = Decoder { reader: Reader::new(body), strict, problems: Vec::new(), mismatch: None };
    match decoder.root(of) {
        Ok(value) => match decoder.mismatch {
            Some(text) => Err(DecodeError(text)),
            None => Ok((value, decoder.problems)),
        },
        Err(Failure(text)) => Err(text.map_or_else(|| Malformed.into(), DecodeError)),
    }
}

/// An error that ends decoding: the text is malformed, or a quantity, time or the like says this.
struct Failure(Option<String>);

impl From<Malformed> for Failure {
    fn from(_: Malformed) -> Self {
        Self(None)
    }
}

struct Decoder<'a> {
    reader: Reader<'a>,
    /// True if unknown and duplicate fields are recorded.
    strict: bool,
    problems: Vec<Problem>,
    /// The first value that did not fit. Decoding goes on, because a later failure takes precedence.
    mismatch: Option<String>,
}

/// More problems are not recorded.
const MAX_PROBLEMS: usize = 100;

impl Decoder<'_> {
    fn root(&mut self, of: &'static Type) -> Result<Value, Failure> {
        let value = match self.reader.peek()? {
            Token::Object => self.object(of, None, &Place::ROOT)?,
            Token::Null => {
                self.reader.literal("null")?;
                of.zero()
            }
            token => {
                self.reader.skip()?;
                let package = of.path.rsplit('/').next().unwrap_or_default();
                self.save(&Place::ROOT, token.name(), package);
                of.zero()
            }
        };
        self.reader.end()?;
        Ok(value)
    }

    fn object(
        &mut self,
        of: &'static Type,
        previous: Option<Value>,
        place: &Place<'_>,
    ) -> Result<Value, Failure> {
        let (mut map, merges) = match previous {
            Some(Value::Object(map)) => (map, true),
            _ => (Map::new(), false),
        };
        let mut seen = 0_u64;
        let mut first = true;
        self.reader.open()?;
        while self.reader.more(b'}', first)? {
            first = false;
            let key = self.reader.key()?;
            let Some((position, field)) = of.position(&key).and_then(|at| Some((at, of.fields.get(at)?)))
            else {
                self.problem(|| Problem::Unknown(place.path_to(&key)));
                self.reader.skip()?;
                continue;
            };
            let bit = 1 << position;
            let again = seen & bit != 0;
            if again {
                self.problem(|| Problem::Duplicate(place.path_to(&key)));
            }
            seen |= bit;
            let previous = if again || merges { map.remove(field.json) } else { None };
            let value = self.value(&field.node, previous, &place.then(Step::Field(of.name, field)))?;
            if !field.omits(&value) {
                map.insert(field.json.to_owned(), value);
            }
        }
        for &position in &of.always {
            if seen & (1 << position) == 0
                && let Some(field) = of.fields.get(position)
                && !(merges && map.contains_key(field.json))
            {
                map.insert(field.json.to_owned(), field.node.zero());
            }
        }
        Ok(Value::Object(map))
    }

    fn value(
        &mut self,
        of: &'static Node,
        previous: Option<Value>,
        place: &Place<'_>,
    ) -> Result<Value, Failure> {
        let token = self.reader.peek()?;
        if token == Token::Null {
            self.reader.literal("null")?;
            let reset = of.pointer || matches!(of.shape, Shape::List(_) | Shape::Items(_) | Shape::Map(_));
            return Ok(if reset { Value::Null } else { previous.unwrap_or_else(|| of.zero()) });
        }
        let value = match (&of.shape, token) {
            (Shape::String, Token::String) => Value::String(self.reader.string()?.into_owned()),
            (Shape::Bool, Token::True) => {
                self.reader.literal("true")?;
                Value::Bool(true)
            }
            (Shape::Bool, Token::False) => {
                self.reader.literal("false")?;
                Value::Bool(false)
            }
            (Shape::Int32 | Shape::Int64, Token::Number) => {
                let number = self.reader.number()?;
                match integer(&of.shape, number) {
                    Some(value) => Value::from(value),
                    None => return Ok(self.keep(of, previous, place, &format!("number {number}"))),
                }
            }
            (Shape::Struct(inner), Token::Object) => self.object(inner.get(), previous, place)?,
            (Shape::List(item) | Shape::Items(item), Token::Array) => self.array(item, previous, place)?,
            (Shape::Map(item), Token::Object) => self.map(item, previous, place)?,
            (Shape::Time | Shape::MicroTime | Shape::Quantity | Shape::IntOrString, _) => {
                self.native(of, token, place)?
            }
            (Shape::FieldsV1 | Shape::RawExtension, _) => self.reader.untyped()?,
            (_, token) => {
                self.reader.skip()?;
                return Ok(self.keep(of, previous, place, token.name()));
            }
        };
        Ok(value)
    }

    /// Types that decode themselves. Their errors end decoding.
    fn native(&mut self, of: &'static Node, token: Token, place: &Place<'_>) -> Result<Value, Failure> {
        let fail = |text: String| Failure(Some(text));
        match of.shape {
            Shape::Quantity => {
                let raw = self.reader.skip()?;
                let text = String::from_utf8_lossy(raw);
                let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&text);
                let amount = quantity::canonical(text.trim()).map_err(|error| fail(error.to_owned()))?;
                Ok(Value::String(amount.into_owned()))
            }
            Shape::IntOrString => match token {
                Token::String => Ok(Value::String(self.reader.string()?.into_owned())),
                Token::Number => {
                    let number = self.reader.number()?;
                    let value = integer(&Shape::Int32, number);
                    value
                        .map(Value::from)
                        .ok_or_else(|| fail(place.mismatch(&format!("number {number}"), "int32")))
                }
                token => {
                    self.reader.skip()?;
                    Err(fail(place.mismatch(token.name(), "int32")))
                }
            },
            _ => {
                if token != Token::String {
                    self.reader.skip()?;
                    return Err(fail(place.mismatch(token.name(), "string")));
                }
                let layout =
                    if matches!(of.shape, Shape::MicroTime) { Layout::Micros } else { Layout::Seconds };
                let moment = time::parse(layout, &self.reader.string()?).map_err(fail)?.rounded(layout);
                Ok(if moment.is_zero() {
                    Value::Null
                } else {
                    Value::String(time::to_string(layout, moment))
                })
            }
        }
    }

    fn array(
        &mut self,
        item: &'static Node,
        previous: Option<Value>,
        place: &Place<'_>,
    ) -> Result<Value, Failure> {
        // Go decodes into the items that are there
        let mut old = match previous {
            Some(Value::Array(items)) => items.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let mut items = Vec::new();
        self.reader.open()?;
        while self.reader.more(b']', items.is_empty())? {
            let value = self.value(item, old.next(), &place.then(Step::Index(items.len())))?;
            items.push(value);
        }
        Ok(Value::Array(items))
    }

    fn map(
        &mut self,
        item: &'static Node,
        previous: Option<Value>,
        place: &Place<'_>,
    ) -> Result<Value, Failure> {
        let mut map = match previous {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let mut seen = std::collections::HashSet::new();
        let mut first = true;
        self.reader.open()?;
        while self.reader.more(b'}', first)? {
            first = false;
            let key = self.reader.key()?.into_owned();
            if self.strict && map.contains_key(&key) && !seen.insert(key.clone()) {
                self.problem(|| Problem::Duplicate(place.path_to(&key)));
            }
            let value = self.value(item, None, &place.then(Step::Key(&key)))?;
            if self.strict {
                seen.insert(key.clone());
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }

    /// Records a value that does not fit; the field keeps what it had.
    fn keep(&mut self, of: &Node, previous: Option<Value>, place: &Place<'_>, value: &str) -> Value {
        self.save(place, value, &of.go);
        previous.unwrap_or_else(|| of.zero())
    }

    fn save(&mut self, place: &Place<'_>, value: &str, kind: &str) {
        if self.mismatch.is_none() {
            self.mismatch = Some(place.mismatch(value, kind));
        }
    }

    fn problem(&mut self, problem: impl FnOnce() -> Problem) {
        if self.strict && self.problems.len() < MAX_PROBLEMS {
            let problem = problem();
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }
}

/// The value of a number without fraction and exponent, if it is in range.
fn integer(shape: &Shape, number: &str) -> Option<i64> {
    let value: i64 = number.parse().ok()?;
    if matches!(shape, Shape::Int32) { i32::try_from(value).ok().map(i64::from) } else { Some(value) }
}
