//! The routes of a component, assembled one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, any};
use http::StatusCode;

use super::checks::Checks;
use super::component_info::ComponentInfo;
use super::slis::Slis;
use super::zpages::State;
use super::{debug_flags, health, metrics, zpages};
use crate::error_response::{not_found, not_sniffed};

/// The routes of a component.
///
/// Unless stated otherwise, a path responds alike to every method, as upstream does; an unknown path is a plain 404.
/// `/statusz` lists the first segment of each path, except for those under `/debug`.
#[must_use]
pub struct Routes {
    info: Arc<ComponentInfo>,
    router: Router,
    listed: BTreeSet<String>,
    states: Vec<State>,
    disabled_metrics: metrics::Disabled,
    has_statusz: bool,
}

impl Routes {
    /// Creates routes with `/statusz` only. Several pages show the information about the component.
    pub fn new(info: ComponentInfo) -> Self {
        let (router, listed, states, disabled_metrics) = Default::default();
        Self { info: Arc::new(info), router, listed, states, disabled_metrics, has_statusz: true }
    }

    /// Leaves `/statusz` out, as upstream does if its gate `ComponentStatusz` is off.
    pub fn without_statusz(self) -> Self {
        Self { has_statusz: false, ..self }
    }

    /// Leaves these metrics, by their full names, out of the pages that are added after this.
    pub fn without_metrics(self, names: Vec<String>) -> Self {
        Self { disabled_metrics: names.into(), ..self }
    }

    /// Adds a health page such as `healthz`, `livez` or `readyz` at `/<name>`, and a page for each check below it.
    ///
    /// `?verbose` lists the checks, `?exclude=<check>` skips one. Results are counted in `slis`.
    pub fn health(self, name: &'static str, checks: Checks, slis: Slis) -> Self {
        let page = health::Page::new(name, checks, slis);
        let below = format!("/{name}/{{*check}}");
        let mut routes = self.route(&format!("/{name}"), health::page(page.clone()));
        routes.router = routes.router.route(&below, health::single(page));
        routes
    }

    /// Adds `/metrics`: the text that `encode` writes in the Prometheus format, for each request.
    pub fn metrics<F>(self, encode: F) -> Self
    where
        F: Fn(&mut String) -> std::fmt::Result + Clone + Send + Sync + 'static,
    {
        let page = metrics::page(Arc::clone(&self.info), Arc::clone(&self.disabled_metrics), encode);
        self.route("/metrics", page)
    }

    /// Adds `/metrics/slis`: results of health checks over time, to be scraped more often than `/metrics`. DELETE resets them.
    pub fn slis(self, slis: Slis) -> Self {
        let page = metrics::slis_page(Arc::clone(&self.info), Arc::clone(&self.disabled_metrics), slis);
        self.route("/metrics/slis", page)
    }

    /// Adds `/configz`: the effective configuration, under the name of its API group. It is asked for at each request.
    pub fn configz<F>(self, group: &'static str, configuration: F) -> Self
    where
        F: Fn() -> serde_json::Value + Clone + Send + Sync + 'static,
    {
        let page = move || serde_json::json!({ group: configuration() }).to_string();
        let page = any(move || async move { not_sniffed(StatusCode::OK, "application/json", page()) });
        self.route("/configz", page)
    }

    /// Adds `/flagz`: the value of every flag by name. They are asked for at each request.
    pub fn flagz<F>(self, flags: F) -> Self
    where
        F: Fn() -> BTreeMap<String, String> + Clone + Send + Sync + 'static,
    {
        let page = zpages::flagz(Arc::clone(&self.info), flags);
        self.route("/flagz", page)
    }

    /// Adds a line to the text of `/statusz`, with what `value` returns for each request, if anything. The object of the page is
    /// upstream's API, and has no place for it.
    pub fn state<F>(mut self, label: &'static str, value: F) -> Self
    where
        F: Fn() -> Option<String> + Send + Sync + 'static,
    {
        self.states.push((label, Box::new(value)));
        self
    }

    /// Adds `/debug/flags` and `/debug/flags/v`; PUT sets the log level.
    pub fn log_level<F>(mut self, set: F) -> Self
    where
        F: Fn(u32) -> Result<(), String> + Clone + Send + Sync + 'static,
    {
        self.router = self.router.merge(debug_flags::routes(set));
        self
    }

    /// Adds any other page.
    pub fn route(mut self, path: &str, page: MethodRouter) -> Self {
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if first != "debug" {
            self.listed.insert(format!("/{first}"));
        }
        self.router = self.router.route(path, page);
        self
    }

    /// Builds the router and adds `/statusz`, which lists the paths.
    pub(crate) fn into_router(self) -> Router {
        let mut router = self.router;
        if self.has_statusz {
            let statusz = zpages::statusz(self.info, self.listed.into_iter().collect(), self.states);
            router = router.route("/statusz", statusz);
        }
        router.fallback(any(|| async { not_found() }))
    }
}
