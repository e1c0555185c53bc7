//! The metrics about the time from a change to its write, and about the failures on the way, by controller.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use kube_api::computed::{self, encode_series};
use kube_api::plain_counter::PlainCounter;

use super::cause::{self, Cause, FailureReason};
use super::sources::{Source, Sources};

/// The label that all metrics about controllers carry; its values are the controllers' names.
const LABEL: &str = "controller";

/// The reasons of retries.
const REASONS: [&str; 6] = ["conflict", "failed", "forbidden", "refused", "stale cache", "unavailable"];

/// The metrics about changes, of all queues of a process.
#[derive(Clone, Debug)]
pub(super) struct ChangeMetrics {
    durations: Family<[(&'static str, String); 1], Histogram, fn() -> Histogram>,
    retries: Family<[(&'static str, String); 2], PlainCounter>,
    ages: Sources<Duration>,
    failing: Sources<FailingCounts>,
}

impl ChangeMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            durations: Family::new_with_constructor(durations),
            retries: Family::default(),
            ages: Sources::default(),
            failing: Sources::default(),
        };
        let help = "[ALPHA] Time in seconds from the event of a change to the response to the write that it required; for \
                    the oldest change that a sync wrote, retries and batching included";
        registry.register("change_write_duration_seconds", help, metrics.durations.clone());
        let help = "[ALPHA] Number of syncs that are to be retried, by the reason. Stale caches and conflicts end by \
                    themselves";
        registry.register("sync_retries_total", help, metrics.retries.clone());
        let (ages, failing) = (metrics.ages.clone(), metrics.failing.clone());
        computed::register(registry, move |encoder| encode_ages(&ages, encoder));
        computed::register(registry, move |encoder| encode_failing(&failing, encoder));
        metrics
    }

    /// The series of a controller: those of the age of its oldest change and of its failing keys have these sources.
    pub(super) fn of_controller(
        &self,
        controller: &str,
        oldest: Source<Duration>,
        failing: Source<FailingCounts>,
    ) -> ChangeSeries {
        self.ages.add(controller, oldest);
        self.failing.add(controller, failing);
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

/// Encodes the gauge about unwritten changes.
fn encode_ages(ages: &Sources<Duration>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let oldest = |ages: Vec<Duration>| ages.into_iter().max().unwrap_or_default().as_secs_f64();
    encode_gauge(
        encoder,
        "oldest_unwritten_change_age_seconds",
        "[ALPHA] Time in seconds since the event of the oldest change that has not been written, because its key is \
         queued, delayed, being synced or failing; 0 if there is none",
        ages.read().into_iter().map(|(controller, ages)| ([(LABEL, controller)], oldest(ages))).collect(),
    )
}

/// The number of failing keys of a queue, by the reason of their last failure.
pub(super) type FailingCounts = [(FailureReason, i64); 4];

/// Encodes the gauge about failing keys. Unlike the counter of retries it says that a key fails also between two retries, which
/// may be 1,000 s apart.
fn encode_failing(failing: &Sources<FailingCounts>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut series = Vec::new();
    for (controller, queues) in failing.read() {
        for reason in FailureReason::ALL {
            let counts = queues.iter().flatten().filter(|(known, _)| *known == reason);
            let labels = [(LABEL, controller.clone()), ("reason", reason.name().to_owned())];
            series.push((labels, counts.map(|(_, count)| count).sum::<i64>()));
        }
    }
    encode_gauge(
        encoder,
        "failing_syncs",
        "[ALPHA] Number of keys whose sync has failed and not succeeded since, by the reason of the last \
         failure. Stale caches and conflicts are not failures.",
        series,
    )
}

/// Encodes a gauge that is computed at the scrape; nothing without series.
pub(super) fn encode_gauge<L: EncodeLabelSet, V: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: Vec<(L, V)>,
) -> fmt::Result {
    if series.is_empty() {
        return Ok(());
    }
    encode_series(encoder, name, help, MetricType::Gauge, series)
}
