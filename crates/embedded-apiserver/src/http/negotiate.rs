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

    /// The real server's media types, as error messages list them. YAML is not served here.
    pub(crate) const LIST: &'static str =
        "application/json, application/yaml, application/vnd.kubernetes.protobuf";
}

/// The media types of watches, as error messages list them.
const STREAMS: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// The agreed encoding of an answer.
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

/// Chooses the encoding of the answer to a request.
///
/// # Errors
/// 406 if the client accepts none.
pub(crate) fn negotiate(headers: &HeaderMap, endpoint: Endpoint) -> Result<Media, Status> {
    choose(header(headers), endpoint).ok_or_else(|| not_acceptable(Format::LIST))
}

/// Checks the header as the router does, which knows no ranges such as `application/*`. `streams` tells whether the route
/// lists or watches.
///
/// # Errors
/// 406 if no media type of the route is named.
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

fn not_acceptable(accepted: &str) -> Status {
    Status::new(406, "NotAcceptable", format!("only the following media types are accepted: {accepted}"))
}

fn header(headers: &HeaderMap) -> &str {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn choose(accept: &str, endpoint: Endpoint) -> Option<Media> {
    if accept.is_empty() {
        return Some(Media { format: Format::Json, table: false });
    }
    let clauses = clauses(accept);
    clauses.iter().find_map(|clause| {
        let mut accepted = Format::ALL.into_iter().filter(|format| clause.accepts(*format));
        accepted.find_map(|format| clause.options(format, endpoint))
    })
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
    fn accepts(&self, format: Format) -> bool {
        let (kind, subtype) = format.name().split_once('/').unwrap_or_default();
        (self.kind == "*" && self.subtype == "*")
            || (self.kind == kind && (self.subtype == "*" || self.subtype == subtype))
    }

    /// `acceptMediaTypeOptions`.
    fn options(&self, format: Format, endpoint: Endpoint) -> Option<Media> {
        let (mut group, mut version, mut kind, mut converts) = ("", "", "", false);
        for (key, value) in &self.parameters {
            match *key {
                "as" => (kind, converts) = (value, true),
                "g" => (group, converts) = (value, true),
                "v" => (version, converts) = (value, true),
                "stream" if !value.is_empty() && *value != "watch" => return None,
                "sv" if !value.is_empty() && (endpoint == Endpoint::Other || *value != "v1") => return None,
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
}
