//! Health pages.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{StatusCode, Uri};
use jiff::Timestamp;
use kube_api::plain_counter::PlainCounter;
use parking_lot::RwLock;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tracing::{debug, trace};

use crate::refusal::{plain, quote};

type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Named checks; more may come while the component runs. Clones share them.
///
/// Checks answer at once: a page asks all of them, one after the other.
#[derive(Clone, Default)]
pub struct Checks(Arc<RwLock<Vec<(Arc<str>, Check)>>>);

impl Checks {
    /// None yet; then a page shows a single check called `ping` that passes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check, or replaces the one of that name. An error's text goes to the log, and to the page of this one
    /// check, which is not open to everybody.
    pub fn register(&self, name: &str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        let mut checks = self.0.write();
        let check: Check = Arc::new(check);
        match checks.iter_mut().find(|(other, _)| **other == *name) {
            Some((_, old)) => *old = check,
            None => checks.push((name.into(), check)),
        }
    }

    /// The checks of this moment, so that none runs under the lock.
    fn all(&self) -> Vec<(Arc<str>, Check)> {
        let checks = self.0.read().clone();
        if checks.is_empty() { vec![("ping".into(), Arc::new(|| Ok(())))] } else { checks }
    }
}

/// Results of checks over time (`component-base/metrics/prometheus/slis`), as `/metrics/slis` shows them. Clones share
/// them.
#[derive(Clone, Default)]
pub struct Slis {
    last: Family<[(&'static str, String); 2], Gauge>,
    total: Family<[(&'static str, String); 3], PlainCounter>,
}

impl Slis {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn observe(&self, name: &str, page: &str, passed: bool) {
        let status = if passed { "success" } else { "error" };
        let [name, page, status] = [name, page, status].map(str::to_owned);
        self.last.get_or_create(&[("name", name.clone()), ("type", page.clone())]).set(i64::from(passed));
        self.total.get_or_create(&[("name", name), ("status", status), ("type", page)]).inc();
    }

    pub(super) fn reset(&self) {
        self.last.clear();
        self.total.clear();
    }

    /// The start of the process is among them, as upstream has it.
    pub(super) fn encode(&self, started: Timestamp, text: &mut String) -> std::fmt::Result {
        let mut registry = Registry::default();
        let start: Gauge<f64, AtomicU64> = Gauge::default();
        start.set(started.as_duration().as_secs_f64());
        let help = "[ALPHA] Start time of the process since unix epoch in seconds";
        registry.register("process_start_time_seconds", help, start);
        let help = "[STABLE] This metric records the result of a single healthcheck";
        registry.register("kubernetes_healthcheck", help, self.last.clone());
        let help = "[STABLE] This metric records the results of all healthcheck";
        registry.register("kubernetes_healthchecks_total", help, self.total.clone());
        prometheus_client::encoding::text::encode(text, &registry)
    }
}

/// One of the health pages.
#[derive(Clone)]
pub(super) struct Page {
    pub(super) name: &'static str,
    pub(super) checks: Checks,
    pub(super) slis: Slis,
}

pub(super) fn page(page: Page) -> MethodRouter {
    any(move |uri: Uri| async move { page.answer(uri.query().unwrap_or_default()) })
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
            None => crate::refusal::not_found(),
        }
    })
}

impl Page {
    /// `healthz.go` `handleRootHealth`: `ok`, or every check on a line if asked for or if one fails.
    fn answer(&self, query: &str) -> Response {
        let query: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        let excluded =
            query.iter().filter(|(name, _)| name == "exclude").map(|(_, check)| &**check).collect();
        let (lines, failed) = self.run(excluded);
        if !failed.is_empty() {
            debug!("{} check failed: {}\n{}", failed.names.join(","), self.name, failed.lines);
            return plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{lines}{} check failed", self.name));
        }
        let is_verbose = query.iter().any(|(name, _)| name == "verbose");
        let text = if is_verbose { format!("{lines}{} check passed\n", self.name) } else { "ok".to_owned() };
        let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
        (headers, text).into_response()
    }

    /// Runs the checks that are not excluded. What is wrong stays between us and the log.
    fn run(&self, mut excluded: BTreeSet<&str>) -> (String, Failed) {
        let mut lines = String::new();
        let mut failed = Failed::default();
        let known = self.checks.all();
        for (name, check) in &known {
            // Writing into a String cannot fail.
            let _ = if excluded.contains(&**name) {
                writeln!(lines, "[+]{name} excluded: ok")
            } else if let Err(error) = self.observed(name, check) {
                failed.add(name, &error);
                writeln!(lines, "[-]{name} failed: reason withheld")
            } else {
                writeln!(lines, "[+]{name} ok")
            };
        }
        excluded.retain(|name| !known.iter().any(|(other, _)| **other == **name));
        if !excluded.is_empty() {
            let unknown = excluded.iter().map(|name| quote(name)).collect::<Vec<_>>().join(",");
            trace!("cannot exclude some health checks, no health checks are installed matching {unknown}");
            let _ = writeln!(lines, "warn: some health checks cannot be excluded: no matches for {unknown}");
        }
        (lines, failed)
    }

    fn observed(&self, name: &str, check: &Check) -> Result<(), String> {
        let result = check();
        self.slis.observe(name, self.name, result.is_ok());
        result
    }
}

/// What the log learns about checks that failed.
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

    fn answer(checks: &Checks, query: &str) -> (u16, String) {
        let page = Page { name: "healthz", checks: checks.clone(), slis: Slis::new() };
        let response = page.answer(query);
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX);
        (status, String::from_utf8(futures::executor::block_on(body).unwrap().to_vec()).unwrap())
    }

    #[test]
    fn without_checks_there_is_a_ping() {
        let checks = Checks::new();
        assert_eq!(answer(&checks, ""), (200, "ok".into()));
        assert_eq!(answer(&checks, "verbose"), (200, "[+]ping ok\nhealthz check passed\n".into()));
    }

    #[test]
    fn a_failure_lists_all_checks_and_no_reason() {
        let checks = Checks::new();
        checks.register("a", || Ok(()));
        checks.register("b", || Err("secret".into()));
        let lines = "[+]a ok\n[-]b failed: reason withheld\nhealthz check failed\n";
        assert_eq!(answer(&checks, ""), (500, lines.into()));
        assert_eq!(answer(&checks, "exclude=b"), (200, "ok".into()));
        checks.register("b", || Ok(()));
        assert_eq!(answer(&checks, ""), (200, "ok".into()));
    }

    /// As a real kube-controller-manager answers.
    #[test]
    fn unknown_exclusions_are_named() {
        let checks = Checks::new();
        checks.register("endpointslice-controller", || Ok(()));
        let query = "exclude=b%01%22&exclude=a&verbose&exclude=endpointslice-controller";
        let lines = "[+]endpointslice-controller excluded: ok\n\
                     warn: some health checks cannot be excluded: no matches for \"a\",\"b\\x01\\\"\"\n\
                     healthz check passed\n";
        assert_eq!(answer(&checks, query), (200, lines.into()));
    }

    #[test]
    fn results_are_counted() {
        let (checks, slis) = (Checks::new(), Slis::new());
        checks.register("a", || Err("no".into()));
        let page = Page { name: "livez", checks: checks.clone(), slis: slis.clone() };
        page.answer("");
        checks.register("a", || Ok(()));
        page.answer("");
        page.answer("exclude=a");
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
