//! The metrics about keys that wait for their turn to write.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use kube_api::computed;

use super::change_metrics::encode_gauge;
use super::sources::{Source, Sources};

/// The number of levels of urgency in an [order of writes](crate::write_order).
pub const LEVELS: usize = 6;

/// The state of an order at a scrape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    /// For each level the number of keys that wait, and the longest wait.
    pub(crate) waiting: [(usize, Duration); LEVELS],
    /// The rate limit, in requests a second.
    pub(crate) qps: f64,
}

type Labels = [(&'static str, String); 2];
/// With the urgencies of the levels.
type Summaries = Sources<([&'static str; LEVELS], Summary)>;

/// The metrics of all orders of a process.
#[derive(Clone, Debug)]
pub(crate) struct TurnMetrics {
    waits: Family<Labels, Histogram, fn() -> Histogram>,
    waiting: Summaries,
}

impl TurnMetrics {
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self { waits: Family::new_with_constructor(waits), waiting: Summaries::default() };
        let help =
            "[ALPHA] Time in seconds that writes waited for the rate limit, by the urgency of their plan";
        registry.register("write_wait_duration_seconds", help, metrics.waits.clone());
        let waiting = metrics.waiting.clone();
        computed::register(registry, move |encoder| encode_waiting(&waiting, encoder));
        metrics
    }

    pub(crate) fn of_controller(
        &self,
        controller: &str,
        urgencies: [&'static str; LEVELS],
        summary: Source<Summary>,
    ) -> TurnSeries {
        let labels = |urgency: &str| [("controller", controller.to_owned()), ("urgency", urgency.to_owned())];
        self.waiting.add(controller, Box::new(move || summary().map(|summary| (urgencies, summary))));
        TurnSeries(urgencies.map(|urgency| self.waits.get_or_create_owned(&labels(urgency))))
    }
}

/// The series of one order.
#[derive(Debug)]
pub(crate) struct TurnSeries([Histogram; LEVELS]);

impl TurnSeries {
    pub(crate) fn waited(&self, level: usize, time: Duration) {
        if let Some(histogram) = self.0.get(level) {
            histogram.observe(time.as_secs_f64());
        }
    }
}

/// From 50 ms, a token at client-go's default of 20 a second, to 10 min.
fn waits() -> Histogram {
    Histogram::new([0.005, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0])
}

/// Encodes the gauges about waiting keys.
fn encode_waiting(waiting: &Summaries, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (mut counts, mut ages, mut limits) = (Vec::new(), Vec::new(), Vec::new());
    for (controller, orders) in waiting.read() {
        for (urgencies, summary) in orders {
            for (urgency, (count, oldest)) in urgencies.into_iter().zip(summary.waiting) {
                let labels = [("controller", controller.clone()), ("urgency", urgency.to_owned())];
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                counts.push((labels.clone(), f64::from(count)));
                ages.push((labels, oldest.as_secs_f64()));
            }
            if summary.qps.is_finite() {
                limits.push(([("controller", controller.clone())], summary.qps));
            }
        }
    }
    encode_gauge(
        encoder,
        "waiting_writes",
        "[ALPHA] Number of keys whose plan waits for the rate limit, by the urgency of the plan",
        counts,
    )?;
    encode_gauge(
        encoder,
        "oldest_waiting_write_age_seconds",
        "[ALPHA] Time in seconds since the key that has waited longest for the rate limit with a plan of this urgency, or a \
         greater one, began to",
        ages,
    )?;
    encode_gauge(
        encoder,
        "write_rate_limit",
        "[ALPHA] Requests per second that the rate limit of a controller allows; with --kube-api-qps=auto it follows the \
         API server",
        limits,
    )
}
