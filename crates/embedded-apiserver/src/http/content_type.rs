//! The encoding of request bodies.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use super::negotiate::Format;
use crate::status::Status;

/// The encoding that the client declares; JSON without a declaration.
///
/// # Errors
/// 415 for an unknown media type.
pub(crate) fn format_of(headers: &HeaderMap) -> Result<Format, Status> {
    let declared = declared(headers);
    if declared.is_empty() {
        return Ok(Format::Json);
    }
    media_type(declared).and_then(|name| Format::named(&name)).ok_or_else(|| unsupported(Format::LIST))
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

/// The media type in lower case, without parameters, as `mime.ParseMediaType` has it. `None` if it is malformed.
fn media_type(header: &str) -> Option<String> {
    let mut parts = header.split(';');
    let name = parts.next()?.trim().to_ascii_lowercase();
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte))
    };
    let (kind, subtype) = name.split_once('/')?;
    let mut rest: Vec<&str> = parts.map(str::trim).collect();
    // One trailing semicolon is tolerated.
    if rest.last().is_some_and(|last| last.is_empty()) {
        rest.pop();
    }
    let parameters = rest.iter().all(|parameter| {
        parameter.split_once('=').is_some_and(|(key, value)| is_token(key.trim_end()) && !value.is_empty())
    });
    (is_token(kind) && is_token(subtype) && parameters).then_some(name)
}
