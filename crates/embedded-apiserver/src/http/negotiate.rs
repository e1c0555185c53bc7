//! Negotiation of the encoding of responses: `k8s.io/apiserver pkg/endpoints/handlers/negotiation`, without qualities and ranges.

use http::HeaderMap;
use http::header::ACCEPT;

use crate::status::Status;

/// An encoding of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Protobuf,
}

impl Format {
    const ALL: [Self; 2] = [Self::Json, Self::Protobuf];

    /// The media type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// The encoding of this media type.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The real server's media types, as error messages list them. YAML is not served here.
    pub(crate) const LIST: &'static str =
        "application/json, application/yaml, application/vnd.kubernetes.protobuf";
}

/// The agreed encoding of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Media {
    pub(crate) format: Format,
    /// True if objects are shown as a table.
    pub(crate) table: bool,
}

/// An endpoint, as far as its representations depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Objects of a resource.
    Resource,
    /// Anything else, and all errors.
    Other,
}

/// Chooses the encoding of the response to a request: the first that the client names and the server has.
pub(crate) fn negotiate(headers: &HeaderMap, endpoint: Endpoint) -> Result<Media, Status> {
    let refused = || {
        let message = format!("only the following media types are accepted: {}", Format::LIST);
        Status::new(406, "NotAcceptable", message)
    };
    ranges(headers).find_map(|range| media(range, endpoint)).ok_or_else(refused)
}

/// The media ranges of the header; all if there is none.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let header = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let header = if header.is_empty() { "*/*" } else { header };
    header.split(',')
}

/// The encoding that a range asks for, if the server has it (`acceptMediaTypeOptions`).
fn media(range: &str, endpoint: Endpoint) -> Option<Media> {
    let mut parts = range.split(';').map(|part| part.trim_matches(' '));
    let format = match parts.next()? {
        "*/*" => Format::Json,
        name => Format::named(name)?,
    };
    let (mut group, mut version, mut kind, mut converts) = ("", "", "", false);
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        match key {
            "as" => (kind, converts) = (value, true),
            "g" => (group, converts) = (value, true),
            "v" => (version, converts) = (value, true),
            _ => {}
        }
    }
    if !converts {
        return Some(Media { format, table: false });
    }
    let is_table = (group, version, kind) == ("meta.k8s.io", "v1", "Table");
    (endpoint == Endpoint::Resource && is_table && format == Format::Json)
        .then_some(Media { format, table: true })
}
