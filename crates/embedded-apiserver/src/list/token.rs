//! Continue tokens: `k8s.io/apiserver pkg/storage/continue.go`.

use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::{DecodeError, Engine as _};
use serde::{Deserialize, Serialize};

const VERSION: &str = "meta.k8s.io/v1";

/// As lenient as Go's decoder.
const BASE64: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

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
        let fields = Fields { v: VERSION.to_owned(), rv: self.version, start: self.start.clone() };
        // Texts and a number: always JSON.
        BASE64.encode(serde_json::to_vec(&fields).unwrap_or_default())
    }

    /// Reads a token, or fails with the message of the API server.
    pub(super) fn decode(token: &str) -> Result<Self, String> {
        let generic = |error: String| format!("continue key is not valid: {error}");
        let json = BASE64.decode(token).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) => at,
                _ => token.len().saturating_sub(1),
            };
            generic(format!("illegal base64 data at input byte {at}"))
        })?;
        let fields = serde_json::from_slice(&json).map_err(|error| generic(error.to_string()))?;
        let Fields { v, rv, start } = fields;
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

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Fields {
    v: String,
    rv: i64,
    start: String,
}

#[cfg(test)]
mod tests;
