//! What is served.

mod configz;
mod debug_flags;
mod health;
mod metrics;
mod zpages;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, any};

use crate::refusal;
pub use health::{Checks, Slis};
pub use zpages::BuildFacts;

/// The paths of a component, to be put together one by one.
///
/// Every path answers every method alike unless it says otherwise, as upstream's do; what is not there is a plain 404.
/// Paths are listed on `/statusz` by their first segment, except those under `/debug`.
#[must_use]
pub struct Endpoints {
    facts: Arc<BuildFacts>,
    router: Router,
    listed: BTreeSet<String>,
}

impl Endpoints {
    /// Nothing yet. The facts are shown by several pages.
    pub fn new(facts: BuildFacts) -> Self {
        Self { facts: Arc::new(facts), router: Router::new(), listed: BTreeSet::new() }
    }

    /// A health page such as `healthz`, `livez` or `readyz`, at `/<name>`, and one page per check below it.
    ///
    /// `?verbose` lists the checks, `?exclude=<check>` leaves some out. Results are counted in `slis`.
    pub fn health(self, name: &'static str, checks: Checks, slis: Slis) -> Self {
        let page = health::Page { name, checks, slis };
        let below = format!("/{name}/{{*check}}");
        let mut endpoints = self.route(&format!("/{name}"), health::page(page.clone()));
        endpoints.router = endpoints.router.route(&below, health::single(page));
        endpoints
    }

    /// `/metrics`: whatever `encode` writes in the Prometheus text format. It runs for each request.
    pub fn metrics<F>(self, encode: F) -> Self
    where
        F: Fn(&mut String) -> std::fmt::Result + Clone + Send + Sync + 'static,
    {
        let page = metrics::page(Arc::clone(&self.facts), encode);
        self.route("/metrics", page)
    }

    /// `/metrics/slis`: results of health checks over time, to be read more often than `/metrics`. DELETE forgets them.
    /// What is shown is what `filter` leaves of them.
    pub fn slis<F>(self, slis: Slis, filter: F) -> Self
    where
        F: Fn(String) -> String + Clone + Send + Sync + 'static,
    {
        let page = metrics::slis_page(Arc::clone(&self.facts), slis, filter);
        self.route("/metrics/slis", page)
    }

    /// `/configz`: the configuration that is in force, under the name of its API group.
    pub fn configz(self, group: &str, configuration: &serde_json::Value) -> Self {
        self.route("/configz", configz::page(group, configuration))
    }

    /// `/flagz`: every flag with its value, by name.
    pub fn flagz(self, flags: impl IntoIterator<Item = (String, String)>) -> Self {
        let page = zpages::flagz(Arc::clone(&self.facts), flags.into_iter().collect());
        self.route("/flagz", page)
    }

    /// `/debug/flags` and `/debug/flags/v`: PUT sets the log level.
    pub fn log_level<F>(mut self, set: F) -> Self
    where
        F: Fn(u32) -> Result<(), String> + Clone + Send + Sync + 'static,
    {
        self.router = self.router.merge(debug_flags::routes(set));
        self
    }

    /// Any other page.
    pub fn route(mut self, path: &str, page: MethodRouter) -> Self {
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if first != "debug" {
            self.listed.insert(format!("/{first}"));
        }
        self.router = self.router.route(path, page);
        self
    }

    /// Everything so far, with `/statusz`, which lists it.
    pub(crate) fn into_router(self) -> Router {
        let statusz = zpages::statusz(self.facts, self.listed.into_iter().collect());
        self.router.route("/statusz", statusz).fallback(any(|| async { refusal::not_found() }))
    }
}
