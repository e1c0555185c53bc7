//! JSON that is read only where a patch leads: the rest stays text, with its order of fields. Source: `lazyNode` of
//! evanphx/json-patch.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::codec::json::MAX_DEPTH;
use crate::codec::{write_json, write_str};
use crate::status::Status;

pub(super) type Fields<'a> = BTreeMap<String, Node<'a>>;

/// A value of a document or of a patch.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Null,
    /// A text that was not looked into.
    Raw(&'a str),
    Object(Fields<'a>),
    Array(Vec<Node<'a>>),
}

impl<'a> Node<'a> {
    fn of(raw: Option<&'a RawValue>) -> Self {
        raw.map_or(Self::Null, |raw| Self::Raw(raw.get()))
    }

    /// Looks into a text. It turns into an object or a list, if it is one.
    ///
    /// Cost: a pass over the text. Opening all levels reads it once for each, of which there are at most [`MAX_DEPTH`].
    pub(super) fn open(&mut self) {
        let Self::Raw(text) = *self else { return };
        let opened = match text.trim_start().as_bytes().first() {
            Some(b'{') => object(text).map(Self::Object),
            Some(b'[') => array(text).map(Self::Array),
            _ => None,
        };
        if let Some(opened) = opened {
            *self = opened;
        }
    }

    /// Appends the value as Go writes it: fields of what was looked into in the order of their names.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Raw(text) => write_compact(out, text),
            Self::Object(fields) => {
                out.push(b'{');
                for (index, (name, field)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_str(out, name);
                    out.push(b':');
                    field.write(out);
                }
                out.push(b'}');
            }
            Self::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
        }
    }

    /// The value as text.
    pub(super) fn into_text(self) -> String {
        let mut out = Vec::with_capacity(1024);
        self.write(&mut out);
        // Parts of texts, and escapes: always UTF-8.
        String::from_utf8(out).unwrap_or_default()
    }
}

/// Checks that the recursion over a patch is bounded.
///
/// # Errors
/// 400 if it nests more than [`MAX_DEPTH`] levels.
pub(super) fn check_depth(patch: &str) -> Result<(), Status> {
    if depth(patch) <= MAX_DEPTH { Ok(()) } else { Err(Status::bad_request("exceeded max depth")) }
}

/// The levels of objects and lists in a JSON text. Cost: a pass.
fn depth(text: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if quoted => {
                quoted = escaped || byte != b'"';
                escaped = byte == b'\\' && !escaped;
            }
            b'"' => quoted = true,
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The members of a JSON object. `None` if the text is none.
pub(super) fn object(text: &str) -> Option<Fields<'_>> {
    let fields: BTreeMap<String, Option<&RawValue>> = serde_json::from_str(text).ok()?;
    Some(fields.into_iter().map(|(name, field)| (name, Node::of(field))).collect())
}

/// The items of a JSON list. `None` if the text is none.
pub(super) fn array(text: &str) -> Option<Vec<Node<'_>>> {
    let items: Vec<Option<&RawValue>> = serde_json::from_str(text).ok()?;
    Some(items.into_iter().map(Node::of).collect())
}

/// Appends a text without the space between its tokens.
fn write_compact(out: &mut Vec<u8>, text: &str) {
    let mut quoted = false;
    let mut escaped = false;
    let is_token = |byte: &u8| {
        let space = !quoted && matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        quoted ^= *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        !space
    };
    let tokens: Vec<u8> = text.bytes().filter(is_token).collect();
    write_json(out, &tokens);
}
