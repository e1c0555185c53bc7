//! The parameter `resourceVersion`.

use crate::selectors::go_quote;

/// Parses a resourceVersion; empty is 0.
///
/// # Errors
/// The message of the API server.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let wrong = match text.parse() {
        // Go accepts no sign.
        Ok(version) if digits => return Ok(version),
        Err(_) if digits => "value out of range",
        _ => "invalid syntax",
    };
    let quoted = go_quote(text);
    Err(format!("resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: {wrong}"))
}
