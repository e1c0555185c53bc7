//! Continue tokens: `k8s.io/apiserver pkg/storage/continue.go`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

const VERSION: &str = "meta.k8s.io/v1";

/// A place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The version of the list; negative for the current one.
    pub(super) version: i64,
    /// The least key of the next page, relative to the prefix of the list.
    pub(super) start: String,
}

#[derive(Deserialize)]
struct Fields {
    rv: i64,
    start: String,
}

impl Token {
    /// The text for clients: base64 of JSON.
    pub(super) fn encode(&self) -> String {
        // Escapes as Go does: the zero byte after the last key becomes \u0000.
        let start = Value::from(self.start.as_str());
        URL_SAFE_NO_PAD.encode(format!(r#"{{"v":"{VERSION}","rv":{},"start":{start}}}"#, self.version))
    }

    /// Reads a token. `None` if it cannot be read. It leads nowhere out of the prefix, which every key that is read begins with.
    pub(super) fn decode(token: &str) -> Option<Self> {
        let Fields { rv, start } = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        Some(Self { version: rv, start: start.strip_prefix('/').unwrap_or(&start).to_owned() })
    }
}

#[cfg(test)]
mod tests;
