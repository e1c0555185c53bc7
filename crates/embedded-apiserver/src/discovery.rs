//! Discovery: which groups, versions and resources there are, and the version of the server. Clients that ask for the
//! aggregated form (KEP-3352) get this one, as from old servers.

mod groups;

use serde_json::{Value, json};

use crate::kinds::Kind;

/// The object at `/version`, `/api`, `/apis` and what lies directly below; `None` for all other paths.
///
/// `address` is how the client reaches this server, with port.
pub(crate) fn answer(path: &str, address: &str, kinds: &[Kind]) -> Option<Value> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments.as_slice() {
        ["version"] => Some(version()),
        ["api"] => Some(groups::legacy_versions(address)),
        ["apis"] => Some(groups::group_list(kinds)),
        ["api", version] => groups::resource_list(kinds, "", version),
        ["apis", group] => groups::group(kinds, group),
        ["apis", group, version] if !group.is_empty() => groups::resource_list(kinds, group, version),
        _ => None,
    }
}

/// `/version`: the release whose API this server has. `compiler` tells it from the real one.
fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": KUBERNETES,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-07-22T18:07:38Z",
        "goVersion": "",
        "compiler": concat!("embedded-apiserver ", env!("CARGO_PKG_VERSION")),
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// The release whose API this server has.
pub(crate) const KUBERNETES: &str = "v1.36.3";

#[cfg(test)]
mod tests;
