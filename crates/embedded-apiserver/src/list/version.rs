//! The parameter `resourceVersion`.

use crate::selectors::go_quote;

/// Parses a resourceVersion; empty is 0.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    parse_uint(text).map_err(|error| format!("resourceVersion: Invalid value: {}: {error}", go_quote(text)))
}

/// Parses a number; empty is 0.
pub(crate) fn parse_uint(text: &str) -> Result<u64, String> {
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
    Err(format!("strconv.ParseUint: parsing {}: {wrong}", go_quote(text)))
}
