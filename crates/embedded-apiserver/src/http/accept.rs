//! Negotiation of the encoding of answers: `k8s.io/apiserver pkg/endpoints/handlers/negotiation`, and before it go-restful's.

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
    /// In the order of preference of the server.
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

    /// All media types, as upstream's error messages list them. YAML is not served here.
    pub(crate) const LIST: &'static str =
        "application/json, application/yaml, application/vnd.kubernetes.protobuf";
}

/// The media types of watches, as error messages list them.
const STREAMS: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// The agreed encoding of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Media {
    pub(crate) format: Format,
    /// True if objects are rows of a table.
    pub(crate) table: bool,
}

impl Media {
    pub(crate) const JSON: Self = Self { format: Format::Json, table: false };
}

/// An endpoint, as far as its representations depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Objects of a resource.
    Resource,
    /// Anything else, and all errors.
    Other,
}

/// Chooses the encoding of the answer to a request, or fails with 406.
pub(crate) fn negotiate(headers: &HeaderMap, endpoint: Endpoint) -> Result<Media, Status> {
    let accept = header(headers);
    if accept.is_empty() {
        return Ok(Media::JSON);
    }
    let chosen = clauses(accept).iter().find_map(|clause| {
        let mut accepted = Format::ALL.into_iter().filter(|format| clause.accepts(format.name()));
        accepted.find_map(|format| clause.options(format, endpoint))
    });
    chosen.ok_or_else(|| {
        let message = format!("only the following media types are accepted: {}", Format::LIST);
        Status::new(406, "NotAcceptable", message)
    })
}

/// The first of the media types that the client accepts, by its preference; parameters do not matter.
pub(crate) fn preferred<'a>(headers: &HeaderMap, media_types: &[&'a str]) -> Option<&'a str> {
    let accept = header(headers);
    let clauses = clauses(if accept.is_empty() { "*/*" } else { accept });
    clauses.iter().find_map(|clause| media_types.iter().copied().find(|name| clause.accepts(name)))
}

/// Checks the header as the router does, which knows no ranges such as `application/*`. `streams` tells whether the route
/// lists or watches. Fails with 406 if no media type of the route is named.
pub(crate) fn check_route(headers: &HeaderMap, streams: bool) -> Result<(), Status> {
    let accept = header(headers);
    let named = |part: &str| {
        let name = part.split(';').next().unwrap_or_default().trim_matches(' ');
        name == "*/*" || Format::named(name).is_some()
    };
    if accept.is_empty() || accept.split(',').any(named) {
        return Ok(());
    }
    let more = if streams { format!(", {STREAMS}") } else { String::new() };
    let message = format!("406: Not Acceptable\n\nAvailable representations: {}{more}", Format::LIST);
    Err(Status::new(406, "NotAcceptable", message).with_details())
}

fn header(headers: &HeaderMap) -> &str {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// One media range of the header.
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

/// `goautoneg.ParseAccept`: the ranges, the best first.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<_> = accept.split(',').filter_map(clause).collect();
    clauses.sort_by(|a, b| {
        let rank = |clause: &Clause<'_>| (clause.kind == "*", clause.subtype == "*");
        b.quality.total_cmp(&a.quality).then(rank(a).cmp(&rank(b)))
    });
    clauses
}

fn clause(part: &str) -> Option<Clause<'_>> {
    let mut pieces = part.trim_matches(' ').split(';');
    let range = pieces.next()?;
    let (kind, subtype) = match range.split_once('/') {
        Some((_, subtype)) if subtype.contains('/') => return None,
        Some((kind, subtype)) if !subtype.is_empty() => (kind.trim_matches(' '), subtype.trim_matches(' ')),
        _ if range.trim_matches(['/', ' ']) == "*" => ("*", "*"),
        _ => return None,
    };
    let mut clause = Clause { kind, subtype, quality: 1.0, parameters: Vec::new() };
    for piece in pieces {
        let Some((key, value)) = piece.split_once('=') else { continue };
        if value.is_empty() || value.contains('=') {
            continue;
        }
        match key.trim_matches(' ') {
            "q" => clause.quality = value.parse().unwrap_or_default(),
            key => clause.parameters.push((key, value.trim_matches(' '))),
        }
    }
    Some(clause)
}

impl Clause<'_> {
    fn accepts(&self, media_type: &str) -> bool {
        let (kind, subtype) = media_type.split_once('/').unwrap_or_default();
        (self.kind == "*" && self.subtype == "*")
            || (self.kind == kind && (self.subtype == "*" || self.subtype == subtype))
    }

    /// `acceptMediaTypeOptions`. Of views, there are tables in `meta.k8s.io/v1`.
    fn options(&self, format: Format, endpoint: Endpoint) -> Option<Media> {
        let parameter = |name| self.parameters.iter().rfind(|(key, _)| *key == name).map(|(_, value)| *value);
        if parameter("stream").is_some_and(|stream| stream != "watch")
            || parameter("sv").is_some_and(|version| endpoint == Endpoint::Other || version != "v1")
        {
            return None;
        }
        match ["as", "g", "v"].map(parameter) {
            [None, None, None] => Some(Media { format, table: false }),
            [Some("Table"), Some("meta.k8s.io"), Some("v1")]
                if endpoint == Endpoint::Resource && format == Format::Json =>
            {
                Some(Media { format, table: true })
            }
            _ => None,
        }
    }
}
