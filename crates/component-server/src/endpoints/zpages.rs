//! Pages about the component itself: `/flagz` and `/statusz`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use http::header::{CONTENT_TYPE, WARNING};
use http::{HeaderMap, Uri};
use jiff::Timestamp;
use serde::Serialize;

use crate::negotiate::{self, Clause};
use crate::refusal::{self, Asked};

/// What is known about the component before it starts.
#[derive(Clone, Debug)]
pub struct BuildFacts {
    /// Its name, such as `kube-controller-manager`.
    pub component: String,
    /// When the process started.
    pub started: Timestamp,
    /// What it was built with. Upstream's pages say Go's version here.
    pub go_version: String,
    /// Its own version, such as `1.36.3`.
    pub binary_version: String,
    /// The version of Kubernetes that it behaves like, such as `1.36`.
    pub emulation_version: String,
}

/// Where the pages' objects are at home (`k8s.io/component-base/zpages`).
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

pub(super) fn flagz(facts: Arc<BuildFacts>, flags: BTreeMap<String, String>) -> MethodRouter {
    let flags = Arc::new(flags);
    any(move |headers: HeaderMap, uri: Uri| async move {
        let text = || {
            flags.iter().fold(header(&facts, "flagz"), |mut text, (name, value)| {
                let _ = writeln!(text, "{name}={value}"); // into a String: cannot fail
                text
            })
        };
        answer("Flagz", &facts, &Asked { headers: &headers, uri: &uri }, text, || Flags { flags: &flags })
    })
}

pub(super) fn statusz(facts: Arc<BuildFacts>, paths: Vec<String>) -> MethodRouter {
    let paths = Arc::new(paths);
    any(move |headers: HeaderMap, uri: Uri| async move {
        let uptime_seconds = Timestamp::now().as_second().saturating_sub(facts.started.as_second()).max(0);
        let text = || status_text(&facts, uptime_seconds, &paths);
        let content = || Status {
            start_time: facts.started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            uptime_seconds,
            go_version: &facts.go_version,
            binary_version: &facts.binary_version,
            emulation_version: &facts.emulation_version,
            paths: &paths,
        };
        answer("Statusz", &facts, &Asked { headers: &headers, uri: &uri }, text, content)
    })
}

fn status_text(facts: &BuildFacts, uptime: i64, paths: &[String]) -> String {
    let started = facts.started.strftime("%a %b %e %H:%M:%S UTC %Y").to_string();
    let up = format!("{} hr {:02} min {:02} sec", uptime / 3600, uptime / 60 % 60, uptime % 60);
    let lines = [
        ("Started", &started),
        ("Up", &up),
        ("Go version", &facts.go_version),
        ("Binary version", &facts.binary_version),
        ("Emulation version", &facts.emulation_version),
        ("Paths", &paths.join(" ")),
    ];
    lines.iter().fold(header(facts, "statusz") + "\n", |mut text, (label, value)| {
        let _ = writeln!(text, "{label}: {value}"); // into a String: cannot fail
        text
    })
}

fn header(facts: &BuildFacts, page: &str) -> String {
    format!("\n{} {page}\n{DISCLAIMER}\n", facts.component)
}

/// How a page can be had.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Json(&'static str),
    Yaml(&'static str),
}

/// Words, unless the client asks for exactly this kind of object; 406 if it accepts neither.
fn answer<T: Serialize>(
    kind: &'static str,
    facts: &BuildFacts,
    asked: &Asked<'_>,
    text: impl FnOnce() -> String,
    content: impl FnOnce() -> T,
) -> Response {
    let accepted = negotiate::accepted(asked.headers);
    let form =
        if accepted.is_empty() { Some(Form::Text) } else { accepted.iter().find_map(|c| form(c, kind)) };
    let object = |version| Object {
        kind,
        api_version: format!("{GROUP}/{version}"),
        metadata: Metadata { name: &facts.component },
        content: content(),
    };
    match form {
        None => refusal::not_acceptable(asked),
        Some(Form::Text) => ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text()).into_response(),
        Some(Form::Json(version)) => {
            let json = serde_json::to_string(&object(version)).unwrap_or_default() + "\n";
            structured("json", kind, version, json)
        }
        Some(Form::Yaml(version)) => {
            // By way of JSON, which sorts the fields by name.
            let yaml = serde_json::to_value(object(version)).ok();
            let yaml = yaml.and_then(|value| serde_yaml::to_string(&value).ok());
            structured("yaml", kind, version, yaml.unwrap_or_default())
        }
    }
}

fn form(clause: &Clause<'_>, kind: &str) -> Option<Form> {
    let is_kind = clause.parameter("as") == kind && clause.parameter("g") == GROUP;
    let version = [VERSION, DEPRECATED_VERSION]
        .into_iter()
        .find(|version| is_kind && clause.parameter("v") == *version);
    let json = version.filter(|_| clause.admits("application", "json")).map(Form::Json);
    let yaml = version.filter(|_| clause.admits("application", "yaml")).map(Form::Yaml);
    let text = || (!clause.transforms() && clause.admits("text", "plain")).then_some(Form::Text);
    json.or(yaml).or_else(text)
}

fn structured(format: &str, kind: &str, version: &str, body: String) -> Response {
    let content_type = format!("application/{format};g={GROUP};v={version};as={kind}");
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
