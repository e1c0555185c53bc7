//! Users, by the tokens of requests. No request is refused.

use std::collections::HashMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The user of requests without a known token.
pub(crate) const ANYONE: &str = "system:admin";

/// The tokens of users.
#[derive(Debug, Clone, Default)]
pub(crate) struct Users(HashMap<String, String>);

impl Users {
    /// Adds a token.
    pub(crate) fn add(&mut self, token: String, user: String) {
        self.0.insert(token, user);
    }

    /// The user of a token.
    pub(crate) fn by_token(&self, token: &str) -> Option<&str> {
        self.0.get(token).map(String::as_str)
    }

    /// True if no token was added, so that all tokens are good.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The user of a request.
    pub(crate) fn of(&self, headers: &HeaderMap) -> &str {
        if self.0.is_empty() {
            return ANYONE;
        }
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        header.strip_prefix("Bearer ").and_then(|token| self.by_token(token.trim())).unwrap_or(ANYONE)
    }
}
