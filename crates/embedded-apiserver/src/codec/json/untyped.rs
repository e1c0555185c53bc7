//! JSON to a tree of no type, such as a patch.

use serde_json::{Map, Value};

use super::place::{Place, Problem, Step};
use super::reader::{Malformed, Reader, Token};
use crate::codec::error::DecodeError;

/// More problems are not recorded.
const MAX_PROBLEMS: usize = 100;

/// Decodes a body of any type, and names its duplicate fields, of which the last one counts. Source: `UnmarshalStrict` of
/// `sigs.k8s.io/json`.
///
/// Cost: one pass. Nesting is limited to 500 levels.
///
/// # Errors
/// The text is not JSON.
pub(crate) fn untyped(body: &[u8]) -> Result<(Value, Vec<Problem>), DecodeError> {
    let mut reader = Reader::new(body);
    let mut problems = Vec::new();
    let tree = value(&mut reader, &Place::ROOT, &mut problems)?;
    reader.end()?;
    Ok((tree, problems))
}

fn value(
    reader: &mut Reader<'_>,
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) -> Result<Value, Malformed> {
    match reader.peek()? {
        Token::Array => {
            reader.open()?;
            let mut items = Vec::new();
            while reader.more(b']', items.is_empty())? {
                items.push(value(reader, &place.then(Step::Index(items.len())), problems)?);
            }
            Ok(Value::Array(items))
        }
        Token::Object => {
            reader.open()?;
            let (mut map, mut first) = (Map::new(), true);
            while reader.more(b'}', first)? {
                first = false;
                let key = reader.key()?.into_owned();
                if map.contains_key(&key) && problems.len() < MAX_PROBLEMS {
                    let problem = Problem::Duplicate(place.path_to(&key));
                    if !problems.contains(&problem) {
                        problems.push(problem);
                    }
                }
                let field = value(reader, &place.then(Step::Key(&key)), problems)?;
                map.insert(key, field);
            }
            Ok(Value::Object(map))
        }
        _ => reader.untyped(),
    }
}
