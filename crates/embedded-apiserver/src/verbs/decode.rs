//! Decoding of request bodies, with the API server's words for what is wrong (`transformDecodeError` of apiserver, and the
//! serializers of apimachinery).

use std::fmt::Display;

use bytes::Bytes;
use serde_json::Value;

use super::meta;
use crate::codec::json::{self, FieldValidation, json_type_of};
use crate::codec::{DecodeError, protobuf};
use crate::core::Entry;
use crate::http::accept::Format;
use crate::schema::Type;
use crate::selectors::go_quote;
use crate::status::Status;

/// Bytes of a body that an error quotes.
const QUOTED: usize = 30;

/// The type that Go's decoder names if the body is no object.
const ANONYMOUS: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

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
pub(crate) fn body(
    format: Format,
    bytes: &Bytes,
    expected: Expected<'_>,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let unrecognized = |error: &dyn Display| {
        let kind = expected.kind;
        let summary = summary(bytes);
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {error} ({summary})"
        ))
    };
    let found = head(format, bytes).map_err(|error| unrecognized(&error))?;
    let api_version = or(&found.api_version, expected.api_version);
    let kind = or(&found.kind, expected.kind);
    let version = match api_version.split_once('/') {
        Some((_, version)) if version.contains('/') => {
            return Err(unrecognized(&format_args!("unexpected GroupVersion string: {api_version}")));
        }
        Some((_, version)) => version,
        None => api_version,
    };
    let refused = |error: &dyn Display| {
        let expected = expected.kind;
        Status::bad_request(format!(
            "{kind} in version {} cannot be handled as a {expected}: {error}",
            go_quote(version)
        ))
    };
    check_kind(expected, &found.api_version, &found.kind).map_err(|error| refused(&error))?;
    if api_version != expected.api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            expected.api_version
        )));
    }
    let (tree, problems) = found.body.decode(expected.type_, validation).map_err(|error| refused(&error))?;
    if validation == FieldValidation::Strict && !problems.is_empty() {
        return Err(refused(&format_args!("strict decoding error: {}", problems.join(", "))));
    }
    if validation == FieldValidation::Warn {
        warnings.extend(problems);
    }
    Ok(without_head(tree))
}

/// Restores an empty list of managed fields, which canonical trees leave out. In protobuf, it has no bytes.
pub(crate) fn keep_reset(format: Format, body: &[u8], object: &mut Value) {
    const NAME: &[u8] = b"managedFields";
    if format == Format::Json
        && body.windows(NAME.len()).any(|window| window == NAME)
        && let Ok(sent) = json::parse(body)
        && meta::is_reset(&sent)
    {
        meta::set(object, "managedFields", Value::Array(Vec::new()));
    }
}

/// Checks that an object, such as the result of a patch, is of the expected kind or another version of it, or fails with the
/// words of upstream's decoder. What it leaves out follows from the path.
pub(crate) fn check_kind(expected: Expected<'_>, api_version: &str, kind: &str) -> Result<(), String> {
    let (api_version, kind) = (or(api_version, expected.api_version), or(kind, expected.kind));
    if api_version == expected.api_version && kind == expected.kind {
        return Ok(());
    }
    let found = Entry::named(api_version, kind).ok_or_else(|| unregistered(api_version, kind))?;
    if Entry::named(expected.api_version, expected.kind).is_some_and(|own| own.resource == found.resource) {
        return Ok(());
    }
    // Go's names of the types: `v1.Service` and the internal `core.Pod`.
    let package = match expected.api_version.split_once('/') {
        None | Some(("events.k8s.io", _)) => "core",
        Some((group, _)) => group.split('.').next().unwrap_or_default(),
    };
    let (version, wanted) = (found.kind.version, expected.kind);
    Err(format!("converting ({version}.{kind}) to ({package}.{wanted}): unknown conversion"))
}

/// Decodes a body whose kind is not looked at closely, such as `DeleteOptions`.
pub(crate) fn options(format: Format, bytes: &Bytes, type_: &'static Type) -> Result<Value, Status> {
    let found = head(format, bytes).map_err(Status::bad_request)?;
    if !found.kind.is_empty() && found.kind != type_.name {
        let api_version = or(&found.api_version, "meta.k8s.io/v1");
        return Err(Status::bad_request(unregistered(api_version, &found.kind)));
    }
    let decoded = found.body.decode(type_, FieldValidation::Ignore);
    Ok(without_head(decoded.map_err(|error| Status::bad_request(error.to_string()))?.0))
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

impl Raw {
    fn decode(
        self,
        type_: &'static Type,
        validation: FieldValidation,
    ) -> Result<(Value, Vec<String>), DecodeError> {
        match self {
            Self::Protobuf(raw) => protobuf::decode(type_, &raw).map(|tree| (tree, Vec::new())),
            Self::Json(tree) => json::decode(type_, tree, validation),
        }
    }
}

fn head(format: Format, bytes: &Bytes) -> Result<Found, String> {
    if format == Format::Protobuf {
        return envelope(bytes);
    }
    let fail = |error: String| format!("couldn't get version/kind; json parse error: {error}");
    let tree = json::parse(bytes).map_err(|error| fail(error.to_string()))?;
    if !(tree.is_object() || tree.is_null()) {
        let found = json_type_of(&tree);
        return Err(fail(format!("json: cannot unmarshal {found} into Go value of type {ANONYMOUS}")));
    }
    let [api_version, kind] = ["apiVersion", "kind"].map(|field| match tree.get(field) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => {
            let found = json_type_of(other);
            Err(fail(format!("json: cannot unmarshal {found} into Go struct field .{field} of type string")))
        }
    });
    Ok(Found { api_version: api_version?, kind: kind?, body: Raw::Json(tree) })
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

fn or<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}

fn unregistered(api_version: &str, kind: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        go_quote(kind),
        go_quote(api_version)
    )
}

/// The tree without kind and apiVersion.
pub(crate) fn without_head(mut tree: Value) -> Value {
    if let Value::Object(fields) = &mut tree {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    tree
}

/// The beginning of a body: JSON as it is, the rest in hexadecimal (`summarizeData`).
fn summary(bytes: &[u8]) -> String {
    let shown = bytes.get(..QUOTED).unwrap_or(bytes);
    let end = if shown.len() < bytes.len() { " ..." } else { "" };
    match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{end}", String::from_utf8_lossy(shown)),
        Some(_) => shown.iter().map(|byte| format!("{byte:02x}")).chain([end.to_owned()]).collect(),
    }
}
