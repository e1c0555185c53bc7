//! Responses: headers, errors, and objects in the agreed encoding.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::Value;

use super::body::Body;
use super::negotiate::{Endpoint, Format, negotiate};
use crate::codec::{json, protobuf};
use crate::kinds::tree::with_head;
use crate::schema::Type;
use crate::status::Status;

/// The content type of texts.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// A response with a body of this type.
pub(crate) fn of(code: u16, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A text, as `http.Error` of Go writes it.
pub(crate) fn text(code: u16, text: &str) -> Response<Body> {
    let mut response = of(code, TEXT, text.to_owned().into_bytes());
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// An error in an encoding that the client accepts, else as JSON.
pub(crate) fn error(status: &Status, headers: &HeaderMap) -> Response<Body> {
    let format = negotiate(headers, Endpoint::Other).map_or(Format::Json, |media| media.format);
    let mut response = object(status.code, format, ("v1", "Status"), status_type(), status.to_json());
    let delay = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if delay > 0 {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(delay));
    }
    response
}

/// The schema of `meta/v1 Status`.
pub(crate) fn status_type() -> Option<&'static Type> {
    Type::named("k8s.io/apimachinery/pkg/apis/meta/v1.Status")
}

/// A tree as an object of a type of the schema, or of none.
pub(crate) fn object(
    code: u16,
    format: Format,
    head: (&str, &str),
    of_type: Option<&'static Type>,
    tree: Value,
) -> Response<Body> {
    let (api_version, kind) = head;
    if let (Format::Protobuf, Some(of_type)) = (format, of_type) {
        let raw = protobuf::encode(of_type, &tree);
        return of(code, format.name(), kube_protobuf::wrap(api_version, kind, &raw));
    }
    let tree = with_head(tree, api_version, kind);
    let Some(of_type) = of_type else { return self::tree(code, &tree) };
    let mut text = Vec::new();
    json::encode(of_type, &tree, &mut text);
    json_bytes(code, text)
}

/// A tree of no type of the schema, as JSON.
pub(crate) fn tree(code: u16, tree: &Value) -> Response<Body> {
    let mut text = Vec::new();
    json::encode_untyped(tree, &mut text);
    json_bytes(code, text)
}

/// JSON, as a response.
pub(crate) fn json_bytes(code: u16, mut json: Vec<u8>) -> Response<Body> {
    json.push(b'\n');
    of(code, Format::Json.name(), json)
}
