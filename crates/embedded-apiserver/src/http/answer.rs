//! Answers: headers, errors, and objects in the agreed encoding.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::Value;

use super::accept::{Endpoint, Format, Media, negotiate};
use super::body::Body;
use super::query::Query;
use crate::codec::{json, protobuf};
use crate::schema::Type;
use crate::status::Status;

/// The content type of texts.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// An answer with a body of this type.
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

/// An error in an encoding that the client accepts, else as indented JSON.
pub(crate) fn error(status: &Status, headers: &HeaderMap, query: &Query) -> Response<Body> {
    let media = negotiate(headers, query, Endpoint::Other);
    let media = media.unwrap_or(Media { format: Format::Json, pretty: true, view: None });
    let mut response = object(status.code, media, ("v1", "Status"), status_type(), status.to_json());
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
    media: Media,
    head: (&str, &str),
    of_type: Option<&'static Type>,
    mut tree: Value,
) -> Response<Body> {
    let (api_version, kind) = head;
    if let (Format::Protobuf, Some(of_type)) = (media.format, of_type) {
        let raw = protobuf::encode(of_type, &tree);
        return of(code, media.format.name(), kube_protobuf::wrap(api_version, kind, &raw));
    }
    if let Value::Object(fields) = &mut tree {
        fields.insert("kind".to_owned(), kind.into());
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
    let Some(of_type) = of_type else { return self::tree(code, media, &tree) };
    let mut text = Vec::new();
    json::encode(of_type, &tree, &mut text);
    json_bytes(code, media, text)
}

/// A tree of no type of the schema, as JSON.
pub(crate) fn tree(code: u16, media: Media, tree: &Value) -> Response<Body> {
    let mut text = Vec::new();
    json::encode_untyped(tree, &mut text);
    json_bytes(code, media, text)
}

/// JSON in the agreed encoding, which is not protobuf.
pub(crate) fn json_bytes(code: u16, media: Media, mut json: Vec<u8>) -> Response<Body> {
    if media.pretty {
        json = indent(&json);
    } else {
        json.push(b'\n');
    }
    of(code, Format::Json.name(), json)
}

/// Indents compact JSON by two spaces, as `json.MarshalIndent` of Go does.
pub(crate) fn indent(json: &[u8]) -> Vec<u8> {
    fn line(out: &mut Vec<u8>, depth: usize) {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    }
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let mut bytes = json.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if in_text {
            out.push(byte);
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                if let Some(end) = bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            byte => {
                in_text = byte == b'"';
                out.push(byte);
            }
        }
    }
    out
}
