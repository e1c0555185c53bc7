//! Reading the body of a response.

use std::error::Error;
use std::time::Duration;

use crate::time::timeout;
use bytes::{Bytes, BytesMut};
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::client::Body;

use crate::encoding::Encoding;
use crate::error::ApiError;
use crate::status::Status;

/// The longest response other than a list: well above what etcd can store.
const MAX_RESPONSE: usize = 64 << 20;
/// The longest list in one response: two million Pods.
const MAX_LIST: usize = 4 << 30;

/// Reads a body of up to 64 MiB.
pub(super) async fn read_all(body: Body) -> Result<Bytes, ApiError> {
    Ok(Limited::new(body, MAX_RESPONSE).collect().await.map_err(broken_body)?.to_bytes())
}

/// Reads a body of up to 4 GiB, of which each frame may take `frame_timeout`. Calls `on_frame` for each.
pub(super) async fn read_list(
    body: Body,
    frame_timeout: Duration,
    on_frame: impl Fn(),
) -> Result<Bytes, ApiError> {
    let mut body = Limited::new(body, MAX_LIST);
    let mut bytes = BytesMut::new();
    let silent = |_| ApiError::Timeout(frame_timeout);
    while let Some(frame) = timeout(frame_timeout, body.frame()).await.map_err(silent)? {
        if let Ok(data) = frame.map_err(broken_body)?.into_data() {
            bytes.extend_from_slice(&data);
            on_frame();
        }
    }
    Ok(bytes.freeze())
}

fn broken_body(error: Box<dyn Error + Send + Sync>) -> ApiError {
    if error.is::<LengthLimitError>() { ApiError::Malformed(error) } else { ApiError::Transport(error) }
}

/// Converts a response without success. A body that isn't a Status becomes the message.
pub(super) fn refusal(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> ApiError {
    let parsed = match Encoding::of_response(headers) {
        Encoding::Protobuf => status_from_protobuf(body),
        Encoding::Json => serde_json::from_slice(body).ok().map(Status::from_json),
    };
    let mut status = parsed.unwrap_or_default();
    if status.code == 0 {
        status.code = code.as_u16();
    }
    if status.message.is_empty() {
        let text = String::from_utf8_lossy(body);
        let text: String = text.trim().chars().filter(|c| !c.is_control()).take(256).collect();
        let name = code.canonical_reason().unwrap_or("unknown status");
        status.message = if text.is_empty() { name.to_owned() } else { format!("{name}: {text}") };
    }
    status.retry_after = status.retry_after.or_else(|| retry_after(code, headers));
    ApiError::Refused(Box::new(status))
}

fn status_from_protobuf(body: &[u8]) -> Option<Status> {
    let envelope = kube_protobuf::Unknown::parse(body).ok()?;
    Status::from_raw(envelope.raw).ok()
}

/// The wait that the server asks for by `Retry-After`. Only overload (429) and errors of the server (5xx) are repeated.
pub(super) fn retry_after(code: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let retriable = code == StatusCode::TOO_MANY_REQUESTS || code.is_server_error();
    let seconds = headers.get(RETRY_AFTER).filter(|_| retriable)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}
