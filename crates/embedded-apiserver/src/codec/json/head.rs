//! `apiVersion` and `kind` of a body.

use super::reader::{Malformed, Reader, Token};
use super::syntax;
use crate::codec::error::DecodeError;

/// `apiVersion` and `kind` of a body; empty if the body has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

/// The type that Go's decoder names if the body is no object.
const ANONYMOUS: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Reads `apiVersion` and `kind`, as `SimpleMetaFactory.Interpret` of apimachinery does: names match regardless of case.
///
/// Cost: skips over the rest of the body.
///
/// # Errors
/// The body is no JSON object, or one of the two is no string, in Go's words.
pub(crate) fn head(body: &[u8]) -> Result<Head, DecodeError> {
    let fail = |text: String| DecodeError(format!("couldn't get version/kind; json parse error: {text}"));
    match read(body) {
        Ok(Ok(head)) => Ok(head),
        Ok(Err(text)) => Err(fail(text)),
        Err(Malformed) => Err(fail(syntax::error(body).unwrap_or_else(|| "malformed JSON".to_owned()))),
    }
}

fn read(body: &[u8]) -> Result<Result<Head, String>, Malformed> {
    let mut reader = Reader::new(body);
    let mut head = Head::default();
    let mut mismatch = None;
    let token = reader.peek()?;
    if token != Token::Object {
        reader.skip()?;
        reader.end()?;
        return Ok(match token {
            Token::Null => Ok(head),
            token => {
                Err(format!("json: cannot unmarshal {} into Go value of type {ANONYMOUS}", token.name()))
            }
        });
    }
    reader.open()?;
    let mut first = true;
    while reader.more(b'}', first)? {
        first = false;
        let key = reader.key()?;
        let (field, json) = if key.eq_ignore_ascii_case("apiVersion") {
            (&mut head.api_version, "apiVersion")
        } else if key.eq_ignore_ascii_case("kind") {
            (&mut head.kind, "kind")
        } else {
            reader.skip()?;
            continue;
        };
        match reader.peek()? {
            Token::String => *field = reader.string()?.into_owned(),
            Token::Null => reader.literal("null")?,
            token => {
                reader.skip()?;
                let text = || {
                    format!(
                        "json: cannot unmarshal {} into Go struct field .{json} of type string",
                        token.name()
                    )
                };
                mismatch.get_or_insert_with(text);
            }
        }
    }
    reader.end()?;
    Ok(mismatch.map_or(Ok(head), Err))
}
