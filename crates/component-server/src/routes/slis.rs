//! Metrics of health checks.

use std::sync::atomic::AtomicU64;

use jiff::Timestamp;
use kube_api::plain_counter::PlainCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Results of health checks over time (`component-base/metrics/prometheus/slis`), which `/metrics/slis` shows. Clones
/// share them.
#[derive(Clone, Default)]
pub struct Slis {
    last: Family<[(&'static str, String); 2], Gauge>,
    total: Family<[(&'static str, String); 3], PlainCounter>,
}

impl Slis {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn observe(&self, name: &str, page: &str, passed: bool) {
        let status = if passed { "success" } else { "error" };
        let [name, page, status] = [name, page, status].map(str::to_owned);
        self.last.get_or_create(&[("name", name.clone()), ("type", page.clone())]).set(i64::from(passed));
        self.total.get_or_create(&[("name", name), ("status", status), ("type", page)]).inc();
    }

    pub(super) fn reset(&self) {
        self.last.clear();
        self.total.clear();
    }

    /// Writes the metrics, and the start time of the process as upstream does.
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
