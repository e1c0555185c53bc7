//! The encoding of request bodies.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use super::negotiate::Format;
use crate::status::Status;

/// The encoding that the client declares; JSON without a declaration.
/// Errors: 415 for an unknown media type.
pub(crate) fn format_of(headers: &HeaderMap) -> Result<Format, Status> {
    let declared = declared(headers);
    if declared.is_empty() {
        return Ok(Format::Json);
    }
    let name = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Format::named(&name).ok_or_else(|| unsupported(Format::LIST))
}

/// 415 with the accepted media types.
pub(crate) fn unsupported(accepted: &str) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    );
    Status::new(415, "UnsupportedMediaType", message)
}

/// The header as it came.
pub(crate) fn declared(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
