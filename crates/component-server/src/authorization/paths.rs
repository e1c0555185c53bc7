//! Paths that every client may use.

use std::collections::HashSet;

/// Exact paths and prefixes (`k8s.io/apiserver/pkg/authorization/path`).
#[derive(Debug)]
pub(super) struct Paths {
    exact: HashSet<String>,
    prefixes: Vec<String>,
}

impl Paths {
    /// Parses patterns. A `*` at the end denotes a prefix; anywhere else it is an error.
    pub(super) fn new(patterns: &[String]) -> Result<Self, String> {
        let mut paths = Self { exact: HashSet::new(), prefixes: Vec::new() };
        for pattern in patterns {
            let path = without_slash(pattern);
            let (stem, is_prefix) = path.strip_suffix('*').map_or((path, false), |stem| (stem, true));
            if stem.contains('*') {
                return Err(format!(
                    "--authorization-always-allow-paths: only trailing * allowed in {path:?}"
                ));
            }
            if is_prefix {
                paths.prefixes.push(stem.to_owned());
            } else {
                paths.exact.insert(stem.to_owned());
            }
        }
        Ok(paths)
    }

    pub(super) fn contain(&self, path: &str) -> bool {
        let path = without_slash(path);
        self.exact.contains(path) || self.prefixes.iter().any(|prefix| path.starts_with(prefix))
    }
}

/// Removes the leading slash, which upstream ignores.
fn without_slash(path: &str) -> &str {
    path.strip_prefix('/').unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(patterns: &[&str]) -> Result<Paths, String> {
        Paths::new(&patterns.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn patterns_match_as_upstream() {
        let paths = paths(&["/healthz", "metrics*", "/debug/*", "/"]).unwrap();
        let matched = ["/healthz", "/metrics", "/metrics/slis", "/debug/", "/debug/x", "/"];
        let unmatched = ["/healthz/", "/healthz/ping", "/debug", "//healthz", "/x"];
        for path in matched {
            assert!(paths.contain(path), "{path}");
        }
        for path in unmatched {
            assert!(!paths.contain(path), "{path}");
        }
    }
}
