//! Flags that can be changed at run time: the log level.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::{Html, Response};
use axum::routing::any;
use http::{Method, Request, StatusCode};
use tokio::time::timeout;

use crate::error_response::not_sniffed;
use crate::go_text::quote;

/// Size limit of the body, which is a number.
const MAX_BODY_BYTES: usize = 1024;
/// Time limit for receiving the body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

const INDEX: Html<&str> = Html(
    "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n\
     <tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n",
);

pub(super) fn routes<F>(set: F) -> Router
where
    F: Fn(u32) -> Result<(), String> + Clone + Send + Sync + 'static,
{
    let index = || any(|| async { INDEX });
    let level = any(move |request: Request<Body>| async move { respond(request, set).await });
    Router::new()
        .route("/debug/flags", index())
        .route("/debug/flags/", index())
        .route("/debug/flags/{*flag}", index())
        .route("/debug/flags/v", level)
}

async fn respond(request: Request<Body>, set: impl FnOnce(u32) -> Result<(), String>) -> Response {
    if request.method() != Method::PUT {
        return text(StatusCode::NOT_ACCEPTABLE, "unsupported http method");
    }
    let body = match timeout(BODY_TIMEOUT, to_bytes(request.into_body(), MAX_BODY_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) => {
            return text(StatusCode::BAD_REQUEST, &format!("error reading request body: {error}"));
        }
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "error reading request body: timeout"),
    };
    let value = String::from_utf8_lossy(&body);
    match level(&value).and_then(set) {
        Ok(()) => text(StatusCode::OK, &format!("successfully set klog.logging.verbosity to {value}")),
        Err(error) => text(StatusCode::BAD_REQUEST, &error),
    }
}

/// Parses a level as Go does, with the errors of Go.
fn level(value: &str) -> Result<u32, String> {
    let error = |why: &str| format!("strconv.ParseUint: parsing {}: {why}", quote(value));
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error("invalid syntax"));
    }
    value.parse().map_err(|_| error("value out of range"))
}

/// Responds in plain text. Its media type has no character set, as upstream's has none here.
fn text(code: StatusCode, text: &str) -> Response {
    not_sniffed(code, "text/plain", format!("{text}\n"))
}
