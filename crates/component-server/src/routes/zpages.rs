//! The pages `/flagz` and `/statusz`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use http::header::{CONTENT_TYPE, WARNING};
use http::{HeaderMap, Uri};
use jiff::Timestamp;
use serde::Serialize;

use super::component_info::ComponentInfo;
use crate::error_response::{RequestHead, not_acceptable};
use crate::negotiate::{self, Clause};

/// API group of the pages' objects (`k8s.io/component-base/zpages`).
const GROUP: &str = "config.k8s.io";
const VERSION: &str = "v1beta1";
const DEPRECATED_VERSION: &str = "v1alpha1";

const DISCLAIMER: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting \
                          compatibility guarantees and is for debugging purposes only.";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<'a, T> {
    kind: &'static str,
    api_version: String,
    metadata: Metadata<'a>,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct Metadata<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Flags<'a> {
    flags: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    start_time: String,
    uptime_seconds: i64,
    go_version: &'a str,
    binary_version: &'a str,
    emulation_version: &'a str,
    paths: &'a [String],
}

/// A label of `/statusz` and its value now, if it has one.
pub(super) type State = (&'static str, Box<dyn Fn() -> Option<String> + Send + Sync>);

pub(super) fn flagz<F>(info: Arc<ComponentInfo>, flags: F) -> MethodRouter
where
    F: Fn() -> BTreeMap<String, String> + Clone + Send + Sync + 'static,
{
    any(move |headers: HeaderMap, uri: Uri| async move {
        let flags = flags();
        let text = || {
            flags.iter().fold(header(&info, "flagz"), |mut text, (name, value)| {
                let _ = writeln!(text, "{name}={value}"); // into a String: cannot fail
                text
            })
        };
        respond("Flagz", &info, &RequestHead { headers: &headers, uri: &uri }, text, || Flags {
            flags: &flags,
        })
    })
}

pub(super) fn statusz(info: Arc<ComponentInfo>, paths: Vec<String>, states: Vec<State>) -> MethodRouter {
    let (paths, states) = (Arc::new(paths), Arc::new(states));
    any(move |headers: HeaderMap, uri: Uri| async move {
        let uptime_seconds = Timestamp::now().as_second().saturating_sub(info.started.as_second()).max(0);
        let text = || status_text(&info, uptime_seconds, &paths, &states);
        let content = || Status {
            start_time: info.started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            uptime_seconds,
            go_version: &info.go_version,
            binary_version: &info.binary_version,
            emulation_version: &info.emulation_version,
            paths: &paths,
        };
        respond("Statusz", &info, &RequestHead { headers: &headers, uri: &uri }, text, content)
    })
}

fn status_text(info: &ComponentInfo, uptime: i64, paths: &[String], states: &[State]) -> String {
    let started = info.started.strftime("%a %b %e %H:%M:%S UTC %Y").to_string();
    let up = format!("{} hr {:02} min {:02} sec", uptime / 3600, uptime / 60 % 60, uptime % 60);
    let lines = [
        ("Started", &started),
        ("Up", &up),
        ("Go version", &info.go_version),
        ("Binary version", &info.binary_version),
        ("Emulation version", &info.emulation_version),
        ("Paths", &paths.join(" ")),
    ];
    let states = states.iter().filter_map(|(label, value)| Some((*label, value()?)));
    let lines = lines.into_iter().map(|(label, value)| (label, value.clone())).chain(states);
    lines.fold(header(info, "statusz") + "\n", |mut text, (label, value)| {
        let _ = writeln!(text, "{label}: {value}"); // into a String: cannot fail
        text
    })
}

fn header(info: &ComponentInfo, page: &str) -> String {
    format!("\n{} {page}\n{DISCLAIMER}\n", info.component)
}

/// Format of a page, with the version of its object.
#[derive(Clone, Copy)]
enum Format {
    Text,
    Json(&'static str),
    Yaml(&'static str),
}

/// Responds with text, or with an object if the client asks for exactly this kind; 406 if it accepts neither.
fn respond<T: Serialize>(
    kind: &'static str,
    info: &ComponentInfo,
    head: &RequestHead<'_>,
    text: impl FnOnce() -> String,
    content: impl FnOnce() -> T,
) -> Response {
    let accepted = negotiate::accepted(head.headers);
    let format =
        if accepted.is_empty() { Some(Format::Text) } else { accepted.iter().find_map(|c| format(c, kind)) };
    let object = |version| Object {
        kind,
        api_version: format!("{GROUP}/{version}"),
        metadata: Metadata { name: &info.component },
        content: content(),
    };
    match format {
        None => not_acceptable(head),
        Some(Format::Text) => ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text()).into_response(),
        Some(Format::Json(version)) => {
            let json = serde_json::to_string(&object(version)).unwrap_or_default() + "\n";
            structured("json", kind, version, json)
        }
        Some(Format::Yaml(version)) => {
            // Through a JSON value, which sorts the fields by name.
            let yaml = serde_json::to_value(object(version)).ok();
            let yaml = yaml.and_then(|value| serde_yaml::to_string(&value).ok());
            structured("yaml", kind, version, yaml.unwrap_or_default())
        }
    }
}

fn format(clause: &Clause<'_>, kind: &str) -> Option<Format> {
    let is_kind = clause.parameter("as") == kind && clause.parameter("g") == GROUP;
    let version = [VERSION, DEPRECATED_VERSION]
        .into_iter()
        .find(|version| is_kind && clause.parameter("v") == *version);
    let json = version.filter(|_| clause.accepts("application", "json")).map(Format::Json);
    let yaml = version.filter(|_| clause.accepts("application", "yaml")).map(Format::Yaml);
    let text = || (!clause.transforms() && clause.accepts("text", "plain")).then_some(Format::Text);
    json.or(yaml).or_else(text)
}

fn structured(media_subtype: &str, kind: &str, version: &str, body: String) -> Response {
    let content_type = format!("application/{media_subtype};g={GROUP};v={version};as={kind}");
    let mut response = ([(CONTENT_TYPE, content_type)], body).into_response();
    if version == DEPRECATED_VERSION {
        let page = kind.to_lowercase();
        let warning = format!(
            "299 - \"This version of the {page} endpoint is deprecated. Please use a newer version.\""
        );
        if let Ok(warning) = warning.parse() {
            response.headers_mut().insert(WARNING, warning);
        }
    }
    response
}
