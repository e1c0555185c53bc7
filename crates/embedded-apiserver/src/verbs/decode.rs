//! Decoding of request bodies, with the API server's words for what is wrong (`transformDecodeError` of apiserver, and the
//! serializers of apimachinery).

use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::Value;

use crate::codec::json::{self, FieldValidation};
use crate::codec::{DecodeError, protobuf};
use crate::core::Entry;
use crate::http::negotiate::Format;
use crate::kinds::tree;
use crate::schema::Type;
use crate::selectors::go_quote;
use crate::status::Status;

/// Bytes of a body that an error quotes.
const QUOTED: usize = 30;

/// The kind that a path accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) type_: &'static Type,
}

impl From<&'static Entry> for Expected<'static> {
    fn from(entry: &'static Entry) -> Self {
        Self { api_version: &entry.api_version, kind: entry.kind.kind, type_: entry.type_ }
    }
}

/// Decodes a body to the canonical tree of the expected kind, without kind and apiVersion. Unknown fields
/// become warnings, or fail the request, as `validation` says.
pub(crate) fn body(
    format: Format,
    bytes: &Bytes,
    expected: Expected<'_>,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let unrecognized = |error: &dyn std::fmt::Display| {
        let kind = expected.kind;
        let summary = summary(bytes);
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {error} ({summary})"
        ))
    };
    let found = head(format, bytes).map_err(|error| unrecognized(&error))?;
    let (api_version, kind) = with_defaults(found.api_version, found.kind, expected);
    let (_, version) = group_version(&api_version)
        .ok_or_else(|| unrecognized(&format_args!("unexpected GroupVersion string: {api_version}")))?;
    let refused = |error: &dyn std::fmt::Display| {
        let expected = expected.kind;
        Status::bad_request(format!(
            "{kind} in version {} cannot be handled as a {expected}: {error}",
            go_quote(version)
        ))
    };
    check(expected, &api_version, &kind).map_err(|error| refused(&error))?;
    let of = expected.type_;
    let (tree, problems) = match found.body {
        Raw::Protobuf(raw) => (protobuf::decode(of, &raw).map_err(|error| refused(&error))?, Vec::new()),
        Raw::Json(tree) => json::decode(of, tree, validation).map_err(|error| refused(&error))?,
    };
    if validation == FieldValidation::Strict && !problems.is_empty() {
        return Err(refused(&format_args!("strict decoding error: {}", problems.join(", "))));
    }
    if validation == FieldValidation::Warn {
        warnings.extend(problems);
    }
    Ok(tree::without_head(tree))
}

/// Checks that a patch has not made an object of another kind.
pub(crate) fn check_kind(expected: Expected<'_>, api_version: &str, kind: &str) -> Result<(), String> {
    let (api_version, kind) = with_defaults(api_version.to_owned(), kind.to_owned(), expected);
    check(expected, &api_version, &kind)
}

/// Decodes a body whose kind is not looked at closely, such as `DeleteOptions`.
/// Errors: 400 with the plain words of the decoder.
pub(crate) fn options(format: Format, bytes: &Bytes, type_: &'static Type) -> Result<Value, Status> {
    let found = head(format, bytes).map_err(Status::bad_request)?;
    if !found.kind.is_empty() && found.kind != type_.name {
        let api_version = if found.api_version.is_empty() { "meta.k8s.io/v1" } else { &found.api_version };
        return Err(Status::bad_request(unregistered(api_version, &found.kind)));
    }
    let decoded = match found.body {
        Raw::Protobuf(raw) => protobuf::decode(type_, &raw),
        Raw::Json(tree) => json::decode(type_, tree, FieldValidation::Ignore).map(|(tree, _)| tree),
    };
    decoded.map(tree::without_head).map_err(|error| Status::bad_request(error.to_string()))
}

/// A body whose kind is known.
struct Found {
    api_version: String,
    kind: String,
    body: Raw,
}

enum Raw {
    Json(Value),
    Protobuf(Bytes),
}

fn head(format: Format, bytes: &Bytes) -> Result<Found, String> {
    if format == Format::Protobuf {
        return envelope(bytes);
    }
    let tree = json::parse(bytes).map_err(|error| error.to_string())?;
    if !matches!(tree, Value::Object(_) | Value::Null) {
        return Err("no JSON object".to_owned());
    }
    let text = |key| match tree::field(&tree, key) {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        _ => Err("apiVersion and kind have to be strings".to_owned()),
    };
    Ok(Found { api_version: text("apiVersion")?, kind: text("kind")?, body: Raw::Json(tree) })
}

fn envelope(bytes: &Bytes) -> Result<Found, String> {
    const MAGIC: &[u8] = b"k8s\0";
    if bytes.is_empty() {
        return Err("empty data".to_owned());
    }
    if !bytes.starts_with(MAGIC) {
        let text = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
        return Err(text.to_owned());
    }
    if bytes.len() == MAGIC.len() {
        return Err("empty body".to_owned());
    }
    let unknown =
        kube_protobuf::Unknown::parse(bytes).map_err(|error| DecodeError::from(error).to_string())?;
    Ok(Found {
        api_version: unknown.api_version.to_owned(),
        kind: unknown.kind.to_owned(),
        body: Raw::Protobuf(bytes.slice_ref(unknown.raw)),
    })
}

/// The apiVersion and kind of a body; those that it leaves out follow from the path.
fn with_defaults(api_version: String, kind: String, expected: Expected<'_>) -> (String, String) {
    let kind = if kind.is_empty() { expected.kind.to_owned() } else { kind };
    let api_version = if api_version.is_empty() { expected.api_version.to_owned() } else { api_version };
    (api_version, kind)
}

fn group_version(api_version: &str) -> Option<(&str, &str)> {
    match api_version.split_once('/') {
        None => Some(("", api_version)),
        Some((_, version)) if version.contains('/') => None,
        Some(parts) => Some(parts),
    }
}

/// Every kind but the expected one is refused as one that does not exist.
fn check(expected: Expected<'_>, api_version: &str, kind: &str) -> Result<(), String> {
    let is_expected = api_version == expected.api_version && kind == expected.kind;
    if is_expected { Ok(()) } else { Err(unregistered(api_version, kind)) }
}

fn unregistered(api_version: &str, kind: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        go_quote(kind),
        go_quote(api_version)
    )
}

/// The beginning of a body: JSON as it is, the rest in hexadecimal (`summarizeData`).
fn summary(bytes: &[u8]) -> String {
    let cut = bytes.get(..QUOTED).filter(|_| bytes.len() > QUOTED);
    let shown = cut.unwrap_or(bytes);
    let end = if cut.is_some() { " ..." } else { "" };
    match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{end}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let mut digits = String::with_capacity(2 * shown.len() + end.len());
            for byte in shown {
                _ = write!(digits, "{byte:02x}");
            }
            digits + end
        }
    }
}
