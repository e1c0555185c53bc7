//! Health pages.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use http::{StatusCode, Uri};
use parking_lot::Mutex;
use tracing::{info, trace};

use super::checks::{Check, Checks};
use super::slis::Slis;
use crate::error_response::{not_found, not_sniffed, plain};
use crate::go_text::{beginning, quote};
use crate::log_limit::LogLimit;

/// A health page. Clones share what was logged.
#[derive(Clone)]
pub(super) struct Page {
    name: &'static str,
    checks: Checks,
    slis: Slis,
    /// The failures of the last request, without numbers.
    last: Arc<Mutex<String>>,
    log_limit: LogLimit,
}

pub(super) fn page(page: Page) -> MethodRouter {
    any(move |uri: Uri| async move { page.respond(uri.query().unwrap_or_default()) })
}

pub(super) fn single(page: Page) -> MethodRouter {
    any(move |Path(name): Path<String>| async move {
        match page.checks.all().iter().find(|(other, _)| **other == *name) {
            Some((_, check)) => match check() {
                Ok(()) => "ok".into_response(),
                Err(error) => {
                    plain(StatusCode::INTERNAL_SERVER_ERROR, format!("internal server error: {error}"))
                }
            },
            None => not_found(),
        }
    })
}

impl Page {
    pub(super) fn new(name: &'static str, checks: Checks, slis: Slis) -> Self {
        let (last, log_limit) = Default::default();
        Self { name, checks, slis, last, log_limit }
    }

    /// Responds with `ok`, or with one line for each check if one fails or for `?verbose` (`healthz.go` `handleRootHealth`).
    fn respond(&self, query: &str) -> Response {
        let query: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        let excluded =
            query.iter().filter(|(name, _)| name == "exclude").map(|(_, check)| &**check).collect();
        let (lines, failed) = self.run(excluded);
        if self.is_news(&failed) && !failed.is_empty() && self.log_limit.allows() {
            info!("{} check failed: {}\n{}", failed.names.join(","), self.name, failed.lines);
        }
        if !failed.is_empty() {
            return plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{lines}{} check failed", self.name));
        }
        let is_verbose = query.iter().any(|(name, _)| name == "verbose");
        let text = if is_verbose { format!("{lines}{} check passed\n", self.name) } else { "ok".to_owned() };
        not_sniffed(StatusCode::OK, "text/plain; charset=utf-8", text)
    }

    /// Runs the checks that are not excluded. Reasons of failures go to the log only.
    fn run(&self, mut excluded: BTreeSet<&str>) -> (String, Failed) {
        let mut lines = String::new();
        let mut failed = Failed::default();
        let known = self.checks.all();
        for (name, check) in &known {
            // Writing into a String cannot fail.
            let _ = if excluded.contains(&**name) {
                writeln!(lines, "[+]{name} excluded: ok")
            } else if let Err(error) = self.run_check(name, check) {
                failed.add(name, &error);
                writeln!(lines, "[-]{name} failed: reason withheld")
            } else {
                writeln!(lines, "[+]{name} ok")
            };
        }
        excluded.retain(|name| !known.iter().any(|(other, _)| **other == **name));
        if !excluded.is_empty() {
            let unknown = excluded.iter().map(|name| quote(&beginning(name))).collect::<Vec<_>>().join(",");
            trace!("cannot exclude some health checks, no health checks are installed matching {unknown}");
            let _ = writeln!(lines, "warn: some health checks cannot be excluded: no matches for {unknown}");
        }
        (lines, failed)
    }

    /// True if these failures are not those of the last request: probes repeat them every few seconds.
    fn is_news(&self, failed: &Failed) -> bool {
        // Numbers may change all the time, such as that of the writes of a takeover.
        let lines = failed.lines.replace(|character: char| character.is_ascii_digit(), "");
        let mut last = self.last.lock();
        let is_news = *last != lines;
        *last = lines;
        is_news
    }

    fn run_check(&self, name: &str, check: &Check) -> Result<(), String> {
        let result = check();
        self.slis.observe(name, self.name, result.is_ok());
        result
    }
}

/// Failed checks, for the log.
#[derive(Default)]
struct Failed {
    names: Vec<String>,
    lines: String,
}

impl Failed {
    fn add(&mut self, name: &str, error: &str) {
        self.names.push(name.to_owned());
        let _ = writeln!(self.lines, "[-]{name} failed: {error}"); // into a String: cannot fail
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn respond(checks: &Checks, query: &str) -> (u16, String) {
        let page = Page::new("healthz", checks.clone(), Slis::new());
        let response = page.respond(query);
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX);
        (status, String::from_utf8(futures::executor::block_on(body).unwrap().to_vec()).unwrap())
    }

    #[test]
    fn without_checks_there_is_a_ping() {
        let checks = Checks::new();
        assert_eq!(respond(&checks, ""), (200, "ok".into()));
        assert_eq!(respond(&checks, "verbose"), (200, "[+]ping ok\nhealthz check passed\n".into()));
    }

    /// Expectations are the responses of a real kube-controller-manager.
    #[test]
    fn unknown_exclusions_are_listed() {
        let checks = Checks::new();
        checks.register("endpointslice-controller", || Ok(()));
        let query = "exclude=b%01%22&exclude=a&verbose&exclude=endpointslice-controller";
        let lines = "[+]endpointslice-controller excluded: ok\n\
                     warn: some health checks cannot be excluded: no matches for \"a\",\"b\\x01\\\"\"\n\
                     healthz check passed\n";
        assert_eq!(respond(&checks, query), (200, lines.into()));
    }

    #[test]
    fn results_are_counted_until_a_reset() {
        let (checks, slis) = (Checks::new(), Slis::new());
        checks.register("a", || Err("no".into()));
        let page = Page::new("livez", checks.clone(), slis.clone());
        page.respond("");
        checks.register("a", || Ok(()));
        page.respond("");
        page.respond("exclude=a");
        let started = Timestamp::from_second(1_795_000_000).unwrap();
        let mut text = String::new();
        slis.encode(started, &mut text).unwrap();
        for line in [
            "process_start_time_seconds 1795000000.0",
            "# TYPE kubernetes_healthcheck gauge",
            "kubernetes_healthcheck{name=\"a\",type=\"livez\"} 1",
            "# TYPE kubernetes_healthchecks_total counter",
            "kubernetes_healthchecks_total{name=\"a\",status=\"success\",type=\"livez\"} 1",
            "kubernetes_healthchecks_total{name=\"a\",status=\"error\",type=\"livez\"} 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in {text}");
        }
        slis.reset();
        let mut text = String::new();
        slis.encode(started, &mut text).unwrap();
        assert!(!text.contains("\nkubernetes_health"), "{text}");
    }
}
