//! Subcommands that diagnose: they read a cluster, or manifests, and report.
//!
//! ```text
//! flags ─> cluster (kubeconfig, lists) or files ─> Snapshot ─> endpoint_diagnostics ─> tables, JSON, YAML
//! ```
//!
//! They need get, list and watch alone, and write nothing but the repairs of `audit --fix` and the access reviews of
//! `preflight`, which the API server does not store.

pub(crate) mod audit;
pub(crate) mod cluster;
pub(crate) mod exit;
pub(crate) mod explain;
mod files;
pub(crate) mod flags;
mod format;
mod live;
pub(crate) mod preflight;
mod serve;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

pub(crate) use flags::matches;

#[cfg(test)]
pub(crate) use audit::args as audit_args;
#[cfg(test)]
pub(crate) use explain::args;
#[cfg(test)]
pub(crate) use preflight::args as preflight_args;

/// The name under which kubectl finds the program as a plugin: `kubectl explain-endpoints`.
const PLUGIN: &str = "kubectl-explain_endpoints";

/// The way in which `explain` is called.
pub(crate) const EXPLAIN: &str = "endpoint-controller-manager explain";

/// Runs `explain`, if the name of the program is that of the plugin.
pub(crate) fn plugin(words: &[OsString]) -> Option<ExitCode> {
    let (program, rest) = words.split_first()?;
    is_plugin(program).then(|| explain::main("kubectl explain-endpoints", rest))
}

fn is_plugin(program: &OsStr) -> bool {
    Path::new(program).file_stem().is_some_and(|name| name == PLUGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_known_by_its_name() {
        for (program, expected) in [
            ("kubectl-explain_endpoints", true),
            ("/usr/local/bin/kubectl-explain_endpoints", true),
            ("kubectl-explain_endpoints.exe", true),
            ("endpoint-controller-manager", false),
            ("", false),
        ] {
            assert_eq!(is_plugin(OsStr::new(program)), expected, "{program}");
        }
    }
}
