//! The documents of `OpenAPI`, as far as kubectl asks.
//!
//! `/openapi/v3` lists a document for each group and version of the table; each has the schemas of its kinds, word for word
//! those of kube-apiserver 1.37.2, and of the paths what kubectl looks for. `kubectl explain`, the merge keys of `kubectl
//! apply` and its probe for `fieldValidation` need no more. `/openapi/v2` is empty: kubectl asks for it only to check lists
//! (`kind: List`) itself, skips what it does not find there, and leaves checking to the server.

mod document;
mod paths;
mod schemas;

use std::sync::OnceLock;

use bytes::Bytes;
use http::Response;
use serde_json::{Map, Value, json};

use crate::discovery::KUBERNETES;
use crate::kinds::{KINDS, Kind};

use document::Document;

/// Answers a GET of `/openapi/v2`, `/openapi/v3` and the documents below; `None` for all other paths.
///
/// Cost: the first question builds all documents, which takes about 10 ms and keeps about 1 MB.
pub(crate) fn answer(path: &str) -> Option<Response<Bytes>> {
    match path.strip_prefix("/openapi/")? {
        "v2" => Some(version_2()),
        "v3" | "v3/" => Some(index().response()),
        path => {
            let name = path.strip_prefix("v3/")?;
            documents().iter().find(|(of, _)| of == name).map(|(_, document)| document.response())
        }
    }
}

/// In the media type that clients ask for with `@` in place of the second dot, which media types may not have.
fn version_2() -> Response<Bytes> {
    let content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    Document::new(content_type, version_2_protobuf()).response()
}

/// `openapi.v2.Document` of gnostic: `swagger` is field 1; `info` is field 2, with `title` 1 and `version` 2.
fn version_2_protobuf() -> Vec<u8> {
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        // Lengths below 128 have one byte.
        let length = u8::try_from(content.len()).unwrap_or_default();
        [&[number << 3 | 2, length], content].concat()
    }
    let info = [field(1, TITLE.as_bytes()), field(2, KUBERNETES.as_bytes())].concat();
    [field(1, b"2.0"), field(2, &info)].concat()
}

const TITLE: &str = "Kubernetes";

fn info() -> Value {
    json!({"title": TITLE, "version": KUBERNETES})
}

/// The path of a document with its hash, which clients keep.
fn address(name: &str, document: &Document) -> String {
    format!("/openapi/v3/{name}?hash={}", document.hash())
}

fn index() -> &'static Document {
    static INDEX: OnceLock<Document> = OnceLock::new();
    INDEX.get_or_init(|| {
        let paths = documents()
            .iter()
            .map(|(name, document)| (name.clone(), json!({"serverRelativeURL": address(name, document)})));
        let paths: Map<String, Value> = paths.collect();
        Document::new("application/json", json!({"paths": paths}).to_string())
    })
}

/// The documents, by their name: `api/v1`, `apis/apps/v1`.
fn documents() -> &'static [(String, Document)] {
    static DOCUMENTS: OnceLock<Vec<(String, Document)>> = OnceLock::new();
    DOCUMENTS.get_or_init(|| {
        let mut versions: Vec<_> = KINDS.iter().map(|kind| (kind.group, kind.version)).collect();
        versions.sort_unstable();
        versions.dedup();
        let build = |(group, version)| {
            let kinds = KINDS.iter().filter(|kind| kind.group == group && kind.version == version);
            (
                prefix(group, version),
                Document::new("application/json", document(&kinds.collect::<Vec<_>>()).to_string()),
            )
        };
        versions.into_iter().map(build).collect()
    })
}

/// `api/v1` or `apis/GROUP/VERSION`
fn prefix(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn document(kinds: &[&Kind]) -> Value {
    let mut paths = Map::new();
    for kind in kinds {
        paths::add(kind, &format!("/{}", prefix(kind.group, kind.version)), &mut paths);
    }
    json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": paths,
        "components": {"schemas": schemas::of(kinds)},
    })
}

#[cfg(test)]
mod tests;
