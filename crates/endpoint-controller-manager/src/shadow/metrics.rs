//! The metrics of comparisons. Series exist, at zero, from the start.

use kube_api::plain_counter::PlainCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::differences::Outcome;
use super::found::Kind;

type Labels = [(&'static str, &'static str); 1];
type KindLabels = [(&'static str, &'static str); 2];

/// The metrics of all controllers. Cheap to clone.
#[derive(Clone)]
pub(super) struct Metrics {
    comparisons: Family<Labels, PlainCounter>,
    recent: Family<Labels, Gauge>,
    lasting: Family<KindLabels, Gauge>,
    lasting_total: Family<KindLabels, PlainCounter>,
    took: Family<Labels, Histogram, fn() -> Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        let (comparisons, recent, lasting, lasting_total) = Default::default();
        Self { comparisons, recent, lasting, lasting_total, took: Family::new_with_constructor(histogram) }
    }
}

/// From 10 ms to 11 minutes.
fn histogram() -> Histogram {
    Histogram::new(std::iter::successors(Some(0.01), |bound| Some(bound * 4.0)).take(9))
}

impl Metrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("shadow");
        let help = "[ALPHA] Number of comparisons of a Service with what the controller would write";
        registry.register("comparisons_total", help, self.comparisons.clone());
        let help = "[ALPHA] Number of objects that are not as the controller would have them, for less than the grace period";
        registry.register("recent_differences", help, self.recent.clone());
        let help = "[ALPHA] Number of objects that have not been as the controller would have them for longer than the \
                    grace period, by the write that the controller would make; unknown if it cannot decode an object";
        registry.register("differences", help, self.lasting.clone());
        let help = "[ALPHA] Number of differences that outlasted the grace period, by the write that the controller would \
                    make";
        registry.register("lasting_differences_total", help, self.lasting_total.clone());
        let help = "[ALPHA] Time in seconds that differences took to end";
        registry.register("difference_duration_seconds", help, self.took.clone());
    }

    /// The same, in which the series of a controller exist.
    pub(super) fn of(&self, controller: &'static str) -> Self {
        for labels in Kind::ALL.map(|kind| of_kind(controller, kind)) {
            drop(self.lasting.get_or_create(&labels));
            drop(self.lasting_total.get_or_create(&labels));
        }
        self.clone()
    }

    /// Counts a comparison of a controller.
    pub(super) fn count(&self, controller: &'static str, outcome: &Outcome) {
        let labels = [("controller", controller)];
        self.comparisons.get_or_create(&labels).inc();
        self.recent.get_or_create(&labels).set(i64::try_from(outcome.recent).unwrap_or(i64::MAX));
        for (lasting, _) in &outcome.lasting {
            let labels = of_kind(controller, lasting.identity.kind);
            self.lasting.get_or_create(&labels).inc();
            self.lasting_total.get_or_create(&labels).inc();
        }
        for (ended, _) in &outcome.ended {
            self.lasting.get_or_create(&of_kind(controller, ended.kind)).dec();
        }
        for took in &outcome.took {
            self.took.get_or_create(&labels).observe(took.as_secs_f64());
        }
    }
}

fn of_kind(controller: &'static str, kind: Kind) -> KindLabels {
    [("controller", controller), ("kind", kind.name())]
}

#[cfg(test)]
pub(super) mod tests;
