//! Continue tokens: `k8s.io/apiserver pkg/storage/continue.go`.

use serde_json::Value;

use crate::codec::json::{json_type_of, syntax_error};

const VERSION: &str = "meta.k8s.io/v1";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The version of the list; negative for the current one.
    pub(super) version: i64,
    /// The least key of the next page, relative to the prefix of the list.
    pub(super) start: String,
}

impl Token {
    /// The text for clients: base64 of JSON.
    pub(super) fn encode(&self) -> String {
        // Escapes as Go does: the zero byte after the last key becomes \u0000.
        let start = Value::from(self.start.as_str());
        let json = format!(r#"{{"v":"{VERSION}","rv":{},"start":{start}}}"#, self.version);
        encode_base64(json.as_bytes())
    }

    /// Reads a token.
    ///
    /// # Errors
    /// The message of the API server.
    pub(super) fn decode(token: &str) -> Result<Self, String> {
        let generic = |error: String| format!("continue key is not valid: {error}");
        let json = decode_base64(token).map_err(generic)?;
        let value = serde_json::from_slice(&json)
            .map_err(|error| generic(syntax_error(&json).unwrap_or_else(|| error.to_string())))?;
        let Fields { v, rv, start } = fields(value).map_err(generic)?;
        if v != VERSION {
            return Err(format!(
                "continue key is not valid: server does not recognize this encoded version {v}"
            ));
        }
        if rv == 0 {
            return Err(format!(
                "continue key is not valid: incorrect encoded start resourceVersion (version {VERSION})"
            ));
        }
        if start.is_empty() {
            return Err(format!("continue key is not valid: encoded start key empty (version {VERSION})"));
        }
        let relative = start.strip_prefix('/').unwrap_or(&start);
        if !is_clean(relative) {
            return Err(generic(start));
        }
        Ok(Self { version: rv, start: relative.to_owned() })
    }
}

/// True if a path has no empty, `.` or `..` segments, so that it cannot lead out of the prefix.
fn is_clean(path: &str) -> bool {
    path.is_empty() || path.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

#[derive(Default)]
struct Fields {
    v: String,
    rv: i64,
    start: String,
}

fn fields(value: Value) -> Result<Fields, String> {
    let Value::Object(object) = value else {
        let kind = json_type_of(&value);
        return if value.is_null() {
            Ok(Fields::default())
        } else {
            Err(format!("json: cannot unmarshal {kind} into Go value of type storage.continueToken"))
        };
    };
    let mut fields = Fields::default();
    let mismatch = |kind: &str, name: &str, of: &str| {
        format!("json: cannot unmarshal {kind} into Go struct field continueToken.{name} of type {of}")
    };
    // Go compares names without regard to case.
    let take = |name: &str| {
        let (_, value) = object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value).filter(|value| !value.is_null())
    };
    let text = |name: &str| match take(name) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(mismatch(json_type_of(other), name, "string")),
    };
    // The first error counts, in the order in which servers write the fields.
    fields.v = text("v")?;
    fields.rv = match take("rv") {
        None => 0,
        Some(Value::Number(number)) => {
            number.as_i64().ok_or_else(|| mismatch(&format!("number {number}"), "rv", "int64"))?
        }
        Some(other) => return Err(mismatch(json_type_of(other), "rv", "int64")),
    };
    fields.start = text("start")?;
    Ok(fields)
}

fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk
            .iter()
            .enumerate()
            .fold(0_u32, |bits, (index, byte)| bits | u32::from(*byte) << (16 - 8 * index));
        for place in 0..=chunk.len() {
            let digit = bits >> (18 - 6 * place) & 0x3f;
            text.extend(ALPHABET.get(digit as usize).copied().map(char::from));
        }
    }
    text
}

/// Decodes base64 for URLs without padding, with the errors of Go, which ignores line ends.
fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut digits) = (0_u32, 0);
    for (index, byte) in text.bytes().enumerate() {
        if matches!(byte, b'\r' | b'\n') {
            continue;
        }
        let digit = ALPHABET.iter().position(|digit| *digit == byte);
        let digit = digit.and_then(|digit| u32::try_from(digit).ok());
        bits = bits << 6 | digit.ok_or_else(|| format!("illegal base64 data at input byte {index}"))?;
        digits += 1;
        if digits == 4 {
            bytes.extend(bits.to_be_bytes().into_iter().skip(1));
            (bits, digits) = (0, 0);
        }
    }
    match digits {
        0 => {}
        1 => return Err(format!("illegal base64 data at input byte {}", text.len() - 1)),
        2 => bytes.extend((bits >> 4).to_be_bytes().into_iter().skip(3)),
        _ => bytes.extend((bits >> 2).to_be_bytes().into_iter().skip(2)),
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
