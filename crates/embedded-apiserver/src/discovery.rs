//! Discovery: which groups, versions and resources there are, one by one and aggregated, and the version of the server.
//!
//! Clients ask `/api` and `/apis` for the aggregated form first (KEP-3352): `apidiscovery.k8s.io/v2` is what Kubernetes
//! 1.37 serves, so `v2beta1` is not acceptable here either.

mod accept;
mod aggregated;
mod document;
mod groups;

use http::HeaderMap;
use serde_json::{Value, json};

use crate::kinds::Kind;

pub(crate) use accept::Accepted;
pub(crate) use document::Document;

/// The answer to a GET of a path that belongs to this module.
pub(crate) enum Answer {
    /// An object that is encoded as the client accepts, like all others.
    Object(Value),
    /// A finished document with its own media type and `ETag`.
    Document(Document),
}

/// Answers a GET of `/version`, `/api`, `/apis` and what lies directly below; `None` for all other paths.
///
/// `address` is how the client reaches this server, with port.
///
/// Cost: aggregated discovery is computed anew, some hundred microseconds; clients ask once.
pub(crate) fn answer(path: &str, headers: &HeaderMap, address: &str, kinds: &[Kind]) -> Option<Answer> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let is_aggregated = || aggregated::is_accepted(headers);
    let object = match segments.as_slice() {
        ["version"] => version(),
        ["api"] => {
            if is_aggregated() {
                return Some(Answer::Document(aggregated::document(kinds, str::is_empty)));
            }
            groups::legacy_versions(address)
        }
        ["apis"] => {
            if is_aggregated() {
                let document = aggregated::document(kinds, |group| !group.is_empty());
                return Some(Answer::Document(document));
            }
            groups::group_list(kinds)
        }
        ["api", version] => groups::resource_list(kinds, "", version)?,
        ["apis", group] => groups::group(kinds, group)?,
        ["apis", group, version] if !group.is_empty() => groups::resource_list(kinds, group, version)?,
        _ => return None,
    };
    Some(Answer::Object(object))
}

/// `/version`: the release whose API this server has. `compiler` tells it from the real one.
fn version() -> Value {
    let minor: u16 = KUBERNETES.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or_default();
    json!({
        "major": "1",
        "minor": minor.to_string(),
        "emulationMajor": "1",
        "emulationMinor": minor.to_string(),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": minor.saturating_sub(1).to_string(),
        "gitVersion": KUBERNETES,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-10-27T12:01:04Z",
        "goVersion": "",
        "compiler": concat!("embedded-apiserver ", env!("CARGO_PKG_VERSION")),
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// The release whose API this server has.
pub(crate) const KUBERNETES: &str = "v1.37.2";

#[cfg(test)]
mod tests;
