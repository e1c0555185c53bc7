//! Flags that can be changed while the component runs: the log level.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::any;
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{Method, Request, StatusCode};
use tokio::time::timeout;

/// A number needs no more.
const LARGEST_BODY: usize = 1024;
/// And no longer.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

const INDEX: Html<&str> = Html(
    "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n\
     <tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n",
);

pub(super) fn routes<F>(set: F) -> Router
where
    F: Fn(u32) -> Result<(), String> + Clone + Send + Sync + 'static,
{
    let index = || any(|| async { INDEX });
    let level = any(move |request: Request<Body>| async move { answer(request, set).await });
    Router::new()
        .route("/debug/flags", index())
        .route("/debug/flags/", index())
        .route("/debug/flags/{*flag}", index())
        .route("/debug/flags/v", level)
}

async fn answer(request: Request<Body>, set: impl FnOnce(u32) -> Result<(), String>) -> Response {
    if request.method() != Method::PUT {
        return text(StatusCode::NOT_ACCEPTABLE, "unsupported http method");
    }
    let body = match timeout(LONGEST_WAIT, to_bytes(request.into_body(), LARGEST_BODY)).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) => {
            return text(StatusCode::BAD_REQUEST, &format!("error reading request body: {error}"));
        }
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "error reading request body: it does not come"),
    };
    let value = String::from_utf8_lossy(&body);
    match level(&value).and_then(set) {
        Ok(()) => text(StatusCode::OK, &format!("successfully set klog.logging.verbosity to {value}")),
        Err(error) => text(StatusCode::BAD_REQUEST, &error),
    }
}

/// Reads a level as Go does, with Go's complaints.
fn level(value: &str) -> Result<u32, String> {
    let complaint = |why: &str| format!("strconv.ParseUint: parsing {}: {why}", crate::refusal::quote(value));
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(complaint("invalid syntax"));
    }
    value.parse().map_err(|_| complaint("value out of range"))
}

/// Without a character set, unlike everything else: upstream's words.
fn text(code: StatusCode, text: &str) -> Response {
    let headers = [(CONTENT_TYPE, "text/plain"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (code, headers, format!("{text}\n")).into_response()
}
