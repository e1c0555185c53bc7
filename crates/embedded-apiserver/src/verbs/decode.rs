//! Decoding of request bodies, with the API server's words for what is wrong (`transformDecodeError` of apiserver, and the
//! serializers of apimachinery).

use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::Value;

use super::meta;
use crate::codec::json::{self, FieldValidation, Problem};
use crate::codec::{DecodeError, protobuf};
use crate::core::{Entry, entries};
use crate::http::accept::Format;
use crate::schema::{self, Type};
use crate::selectors::go_quote;
use crate::status::Status;

/// Bytes of a body that an error quotes.
const QUOTED: usize = 30;
/// Versions that the API server can decode and does not serve.
const FORMER: &[(&str, &str)] = &[
    ("apps/v1beta1", "Deployment"),
    ("apps/v1beta2", "Deployment"),
    ("apps/v1beta2", "ReplicaSet"),
    ("extensions/v1beta1", "Deployment"),
    ("extensions/v1beta1", "ReplicaSet"),
    ("coordination.k8s.io/v1beta1", "Lease"),
    ("discovery.k8s.io/v1beta1", "EndpointSlice"),
    ("events.k8s.io/v1beta1", "Event"),
];

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

/// Decodes a body to the canonical tree of the expected kind, without kind and apiVersion. Unknown and duplicate fields
/// become warnings, or fail the request, as `validation` says.
///
/// # Errors
/// 400.
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
    let type_ = decodable(&api_version, &kind, expected)
        .ok_or_else(|| refused(&unregistered(&api_version, &kind)))?;
    let (tree, problems) = match &found.body {
        Raw::Protobuf(raw) => (protobuf::decode(type_, raw).map_err(|error| refused(&error))?, Vec::new()),
        Raw::Json(text) => json::decode(type_, text, validation).map_err(|error| refused(&error))?,
    };
    let problems: Vec<String> = problems.iter().map(Problem::to_string).collect();
    // Conversion comes before what strict decoding found (`versioning.codec.Decode`).
    if kind != expected.kind
        || !std::ptr::eq(type_, expected.type_) && !same_storage(&api_version, &kind, expected)
    {
        return Err(refused(&no_conversion(&api_version, &kind, expected)));
    }
    if validation == FieldValidation::Strict && !problems.is_empty() {
        return Err(refused(&format_args!("strict decoding error: {}", problems.join(", "))));
    }
    if api_version != expected.api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            expected.api_version
        )));
    }
    if validation == FieldValidation::Warn {
        warnings.extend(problems);
    }
    Ok(without_head(tree))
}

/// Restores an empty list of managed fields, which canonical trees leave out.
pub(crate) fn keep_reset(format: Format, body: &[u8], object: &mut Value) {
    const NAME: &[u8] = b"managedFields";
    if !body.windows(NAME.len()).any(|window| window == NAME) {
        return;
    }
    let sent = match format {
        Format::Json => serde_json::from_slice(body).ok(),
        // An empty list has no bytes.
        Format::Protobuf => None,
    };
    if let Some(sent) = sent {
        meta::keep_reset(object, &sent);
    }
}

/// Checks that a patch has not made an object of another kind.
///
/// # Errors
/// The words of upstream's decoder.
pub(crate) fn check_kind(expected: Expected<'_>, api_version: &str, kind: &str) -> Result<(), String> {
    let (api_version, kind) = with_defaults(api_version.to_owned(), kind.to_owned(), expected);
    if api_version == expected.api_version && kind == expected.kind {
        return Ok(());
    }
    if decodable(&api_version, &kind, expected).is_none() {
        return Err(unregistered(&api_version, &kind));
    }
    if same_storage(&api_version, &kind, expected) {
        return Ok(());
    }
    Err(no_conversion(&api_version, &kind, expected))
}

/// Decodes a body whose kind is not looked at closely, such as `DeleteOptions`.
///
/// # Errors
/// 400 with the plain words of the decoder.
pub(crate) fn options(format: Format, bytes: &Bytes, type_: &'static Type) -> Result<Value, Status> {
    let found = head(format, bytes).map_err(Status::bad_request)?;
    if !found.kind.is_empty() && found.kind != type_.name {
        let api_version = if found.api_version.is_empty() { "meta.k8s.io/v1" } else { &found.api_version };
        return Err(Status::bad_request(unregistered(api_version, &found.kind)));
    }
    let tree = match &found.body {
        Raw::Protobuf(raw) => {
            protobuf::decode(type_, raw).map_err(|error| Status::bad_request(error.to_string()))?
        }
        Raw::Json(text) => {
            let decoded = json::decode(type_, text, FieldValidation::Ignore);
            decoded.map_err(|error| Status::bad_request(error.to_string()))?.0
        }
    };
    Ok(without_head(tree))
}

/// A body whose kind is known.
struct Found {
    api_version: String,
    kind: String,
    body: Raw,
}

enum Raw {
    Json(Bytes),
    Protobuf(Bytes),
}

fn head(format: Format, bytes: &Bytes) -> Result<Found, String> {
    if format == Format::Protobuf {
        return envelope(bytes);
    }
    let head = json::head(bytes).map_err(|error| error.to_string())?;
    Ok(Found { api_version: head.api_version, kind: head.kind, body: Raw::Json(bytes.clone()) })
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

/// The type of a kind that the API server can decode; `None` if it does not know the kind.
fn decodable(api_version: &str, kind: &str, expected: Expected<'_>) -> Option<&'static Type> {
    if api_version == expected.api_version && kind == expected.kind {
        return Some(expected.type_);
    }
    if let Some(entry) = Entry::named(api_version, kind) {
        return Some(entry.type_);
    }
    schema::go_type(api_version, kind)?;
    if FORMER.contains(&(api_version, kind)) {
        return entries().iter().find(|entry| entry.kind.kind == kind).map(|entry| entry.type_);
    }
    unserved(api_version, kind)
}

/// The type as which an object of a kind that is not served is decoded, before it is refused. Of most kinds, that is only
/// the metadata.
fn unserved(api_version: &str, kind: &str) -> Option<&'static Type> {
    let list = entries().iter().find(|entry| entry.api_version == api_version && entry.list_kind == kind);
    if let Some(entry) = list {
        return Type::named(&format!("{}List", entry.kind.type_name));
    }
    let of_meta = |name: &str| Type::named(&format!("k8s.io/apimachinery/pkg/apis/meta/v1.{name}"));
    let partial = if kind.ends_with("List") { "PartialObjectMetadataList" } else { "PartialObjectMetadata" };
    of_meta(kind).or_else(|| of_meta(partial))
}

fn unregistered(api_version: &str, kind: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        go_quote(kind),
        go_quote(api_version)
    )
}

/// True if one kind shows the objects of the other: both versions of Events, and former versions.
fn same_storage(api_version: &str, kind: &str, expected: Expected<'_>) -> bool {
    if FORMER.contains(&(api_version, kind)) {
        return kind == expected.kind;
    }
    match (Entry::named(api_version, kind), Entry::named(expected.api_version, expected.kind)) {
        (Some(a), Some(b)) => a.resource == b.resource,
        _ => false,
    }
}

/// Go's error for an object that cannot be converted to the expected kind.
fn no_conversion(api_version: &str, kind: &str, expected: Expected<'_>) -> String {
    let from = schema::go_type(api_version, kind).unwrap_or_else(|| kind.to_owned());
    format!("converting ({from}) to ({}): unknown conversion", internal_type(expected))
}

/// The name of the internal Go type, such as `core.Pod`.
fn internal_type(expected: Expected<'_>) -> String {
    let group = expected.api_version.split_once('/').map_or("", |(group, _)| group);
    let package = match group {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or_default(),
    };
    format!("{package}.{}", expected.kind)
}

fn without_head(mut tree: Value) -> Value {
    if let Value::Object(fields) = &mut tree {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    tree
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
