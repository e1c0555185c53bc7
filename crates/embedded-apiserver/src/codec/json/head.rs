//! `apiVersion` and `kind` of a body.

use super::reader::{Reader, Token};
use crate::codec::error::DecodeError;

/// `apiVersion` and `kind` of a body; empty if the body has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

/// Reads `apiVersion` and `kind`, as `SimpleMetaFactory.Interpret` of apimachinery does: names match regardless of case.
///
/// Cost: skips over the rest of the body.
///
/// # Errors
/// The body is no JSON object, or one of the two is no string, which Go says in other words.
pub(crate) fn head(body: &[u8]) -> Result<Head, DecodeError> {
    let mut reader = Reader::new(body);
    let mut head = Head::default();
    match reader.peek()? {
        Token::Object => reader.open()?,
        Token::Null => {
            reader.literal("null")?;
            reader.end()?;
            return Ok(head);
        }
        _ => return Err(DecodeError("no JSON object".to_owned())),
    }
    let mut first = true;
    while reader.more(b'}', first)? {
        first = false;
        let key = reader.key()?;
        let field = if key.eq_ignore_ascii_case("apiVersion") {
            &mut head.api_version
        } else if key.eq_ignore_ascii_case("kind") {
            &mut head.kind
        } else {
            reader.skip()?;
            continue;
        };
        match reader.peek()? {
            Token::String => *field = reader.string()?.into_owned(),
            Token::Null => reader.literal("null")?,
            _ => return Err(DecodeError("apiVersion and kind have to be strings".to_owned())),
        }
    }
    reader.end()?;
    Ok(head)
}
