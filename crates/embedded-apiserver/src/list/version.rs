//! The parameter and field `resourceVersion`.

use crate::selectors::go_quote;

/// Parses a resourceVersion as Go's `strconv.ParseUint` does; empty is 0. Go accepts no sign.
pub(crate) fn parse_uint(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(version) if digits => Ok(version),
        _ => {
            let wrong = if digits { "value out of range" } else { "invalid syntax" };
            Err(format!("strconv.ParseUint: parsing {}: {wrong}", go_quote(text)))
        }
    }
}

/// Parses the parameter, or fails with the message of the API server.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    let wrong = |error| format!("resourceVersion: Invalid value: {}: {error}", go_quote(text));
    parse_uint(text).map_err(wrong)
}
