//! Users, by the tokens of requests.

use std::collections::HashMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The user of requests without a known token.
pub(crate) const ANYONE: &str = "system:admin";

/// The tokens of users.
#[derive(Debug, Clone, Default)]
pub(crate) struct Users {
    by_token: HashMap<String, String>,
    /// Refuses requests from the network without one of the tokens.
    pub(crate) is_token_required: bool,
}

impl Users {
    /// Adds a token.
    pub(crate) fn add(&mut self, token: String, user: String) {
        self.by_token.insert(token, user);
    }

    /// The user of a token.
    pub(crate) fn by_token(&self, token: &str) -> Option<&str> {
        self.by_token.get(token).map(String::as_str)
    }

    /// True if no token was added, so that all tokens are good.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_token.is_empty()
    }

    /// The user of a request.
    pub(crate) fn of(&self, headers: &HeaderMap) -> &str {
        self.named(headers).unwrap_or(ANYONE)
    }

    /// True if a request from the network is answered: probes always are.
    pub(crate) fn admit(&self, path: &str, headers: &HeaderMap) -> bool {
        let is_probe = matches!(path.split('/').nth(1), Some("healthz" | "livez" | "readyz"));
        !self.is_token_required || is_probe || self.named(headers).is_some()
    }

    /// The user whose token a request has.
    fn named(&self, headers: &HeaderMap) -> Option<&str> {
        let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
        self.by_token(header.strip_prefix("Bearer ")?.trim())
    }
}
