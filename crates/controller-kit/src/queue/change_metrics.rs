//! The metrics about the time from a change to its write, and about the retries on the way, by controller.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use kube_api::plain_counter::PlainCounter;

use super::cause::{self, Cause};

/// The label that all metrics about controllers carry; its values are the controllers' names.
const LABEL: &str = "controller";

/// The reasons of retries.
const REASONS: [&str; 6] = ["conflict", "failed", "forbidden", "refused", "stale cache", "unavailable"];

/// The metrics about changes, of all queues of a process.
#[derive(Clone, Debug)]
pub(super) struct ChangeMetrics {
    durations: Family<[(&'static str, String); 1], Histogram, fn() -> Histogram>,
    retries: Family<[(&'static str, String); 2], PlainCounter>,
    ages: Ages,
}

impl ChangeMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let (retries, ages) = <(Family<_, _>, Ages)>::default();
        let metrics = Self { durations: Family::new_with_constructor(durations), retries, ages };
        registry.register(
            "change_write_duration_seconds",
            "[ALPHA] Time in seconds from the event of a change to the response to the write that it required; \
             for the oldest change that a sync wrote, retries and batching included",
            metrics.durations.clone(),
        );
        registry.register(
            "sync_retries_total",
            "[ALPHA] Number of syncs that are to be retried, by the reason. Stale caches and conflicts end by themselves",
            metrics.retries.clone(),
        );
        registry.register_collector(Box::new(metrics.ages.clone()));
        metrics
    }

    /// The series of a controller. `oldest` is called at each scrape until it returns `None`.
    pub(super) fn of_controller(&self, controller: &str, oldest: OldestChange) -> ChangeSeries {
        self.ages.0.lock().entry(controller.to_owned()).or_default().push(oldest);
        let durations = self.durations.get_or_create_owned(&[(LABEL, controller.to_owned())]);
        let retries = REASONS.map(|reason| {
            let labels = [(LABEL, controller.to_owned()), ("reason", reason.replace(' ', "_"))];
            (reason, self.retries.get_or_create_owned(&labels))
        });
        ChangeSeries { durations, retries }
    }
}

/// The series of one queue.
#[derive(Debug)]
pub(super) struct ChangeSeries {
    pub(super) durations: Histogram,
    retries: [(&'static str, PlainCounter); 6],
}

impl ChangeSeries {
    pub(super) fn retried(&self, causes: &[Cause]) {
        let reason = cause::reason(causes);
        self.retries.iter().filter(|(known, _)| *known == reason).for_each(|(_, retries)| {
            retries.inc();
        });
    }
}

/// From 5 ms to 5 min. Steps of at most 20 ms up to 160 ms, where nearly all writes are, so that quantiles there are that
/// exact.
fn durations() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.2, 0.3, 0.5, 0.75, 1.0,
        1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0,
    ])
}

/// Returns the age of a queue's oldest change, or `None` once the queue is gone.
pub(super) type OldestChange = Box<dyn Fn() -> Option<Duration> + Send + Sync>;

/// The gauge about unwritten changes, computed at the scrape.
#[derive(Clone, Default)]
struct Ages(Arc<Mutex<BTreeMap<String, Vec<OldestChange>>>>);

impl fmt::Debug for Ages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.lock().keys()).finish()
    }
}

impl Collector for Ages {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut ages = Vec::new();
        for (controller, sources) in self.0.lock().iter_mut() {
            let mut oldest = Duration::ZERO;
            sources.retain(|source| source().inspect(|age| oldest = oldest.max(*age)).is_some());
            ages.push((controller.clone(), oldest));
        }
        encode_gauge(
            &mut encoder,
            "oldest_unwritten_change_age_seconds",
            "[ALPHA] Time in seconds since the event of the oldest change that has not been written, because its key is \
             queued, delayed, being synced or failing; 0 if there is none",
            LABEL,
            ages,
        )
    }
}

/// Encodes a gauge that is computed at the scrape: a series for each value of a label.
pub(super) fn encode_gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &str,
    values: Vec<(String, Duration)>,
) -> fmt::Result {
    if values.is_empty() {
        return Ok(());
    }
    let mut encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labelled, value) in values {
        encoder.encode_family(&[(label, labelled)])?.encode_gauge(&value.as_secs_f64())?;
    }
    Ok(())
}
