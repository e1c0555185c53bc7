//! The parameter `resourceVersion`.

use crate::selectors::go_quote;

/// Parses a resourceVersion; empty is 0.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    // Go accepts no sign.
    let has_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let version = if text.is_empty() { Some(0) } else { text.parse().ok().filter(|_| has_digits) };
    version.ok_or_else(|| format!("invalid resource version: {}", go_quote(text)))
}
