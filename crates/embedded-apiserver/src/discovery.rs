//! Discovery: which groups, versions and resources there are, one by one, and the version of the server.
//!
//! Clients ask `/api` and `/apis` for all of them in one document first (KEP-3352), which there is not here; they accept the
//! groups as well, and then ask for the resources of each.

mod groups;

use serde_json::{Value, json};

use crate::kinds::Kind;

/// Answers a GET of `/version`, `/api`, `/apis` and of the resources of a version; `None` for all other paths.
pub(crate) fn answer(path: &str, kinds: &[Kind]) -> Option<Value> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments.as_slice() {
        ["version"] => Some(version()),
        ["api"] => Some(groups::legacy_versions()),
        ["apis"] => Some(groups::group_list(kinds)),
        ["api", version] => groups::resource_list(kinds, "", version),
        ["apis", group, version] if !group.is_empty() => groups::resource_list(kinds, group, version),
        _ => None,
    }
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
