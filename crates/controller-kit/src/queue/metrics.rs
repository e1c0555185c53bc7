//! The seven `workqueue_*` metrics of every Kubernetes component, one series per queue name, and those about changes.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use kube_api::computed;
use kube_api::plain_counter::PlainCounter;

use super::change_metrics::{ChangeMetrics, ChangeSeries, FailingCounts, encode_gauge};
use super::sources::{Source, Sources};
use super::state::QueueState;
use super::turn_metrics::TurnMetrics;

type Labels = [(&'static str, String); 1];
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// The metrics of all work queues of a process. Cheap to clone.
///
/// Register once and hand it to [`WorkQueue::with_metrics`](super::WorkQueue::with_metrics); a queue's series exist,
/// at zero, from that moment. Names, types, labels and buckets of `workqueue_*` are those of
/// `k8s.io/component-base` (`metrics/prometheus/workqueue`). Queues of the same name share their series.
#[derive(Debug, Clone)]
pub struct QueueMetrics {
    depth: Family<Labels, Gauge>,
    adds: Family<Labels, PlainCounter>,
    retries: Family<Labels, PlainCounter>,
    queue_duration: Histograms,
    work_duration: Histograms,
    running: Sources<Vec<Duration>>,
    changes: ChangeMetrics,
    pub(crate) turns: TurnMetrics,
}

impl QueueMetrics {
    /// Adds the metrics to `registry`. A second call on the same registry would expose every name twice.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            queue_duration: Histograms::new_with_constructor(duration_histogram),
            work_duration: Histograms::new_with_constructor(duration_histogram),
            running: Sources::default(),
            changes: ChangeMetrics::register(registry),
            turns: TurnMetrics::register(registry),
        };
        let help = "[BETA] Number of keys that wait to be processed, without delayed ones";
        registry.register("workqueue_depth", help, metrics.depth.clone());
        let help = "[BETA] Number of keys added, without additions of a key that was already waiting";
        registry.register("workqueue_adds_total", help, metrics.adds.clone());
        let help = "[BETA] Time in seconds that a key waited in the queue before it was processed";
        registry.register("workqueue_queue_duration_seconds", help, metrics.queue_duration.clone());
        let help = "[BETA] Time in seconds that processing a key took";
        registry.register("workqueue_work_duration_seconds", help, metrics.work_duration.clone());
        let help = "[BETA] Number of delayed additions, for retries and for batching";
        registry.register("workqueue_retries_total", help, metrics.retries.clone());
        let running = metrics.running.clone();
        computed::register(registry, move |encoder| encode_running(&running, encoder));
        metrics
    }

    /// The series of the queue `name` of a controller, some of which have these sources.
    pub(super) fn of_queue(&self, controller: &str, name: &str, sources: QueueSources) -> Series {
        let QueueSources { running, oldest, failing } = sources;
        let labels = [("name", name.to_owned())];
        self.running.add(name, running);
        Series {
            depth: self.depth.get_or_create_owned(&labels),
            adds: self.adds.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
            queue_duration: self.queue_duration.get_or_create_owned(&labels),
            work_duration: self.work_duration.get_or_create_owned(&labels),
            changes: self.changes.of_controller(controller, oldest, failing),
        }
    }
}

/// From 10 ns to 10 s by tens, as upstream: multiplied step by step, as Go does, so that the bounds are equal to the
/// last bit.
fn duration_histogram() -> Histogram {
    Histogram::new(std::iter::successors(Some(1e-8), |bound| Some(bound * 10.0)).take(10))
}

/// The series of one queue.
#[derive(Debug)]
pub(super) struct Series {
    depth: Gauge,
    adds: PlainCounter,
    retries: PlainCounter,
    pub(super) queue_duration: Histogram,
    pub(super) work_duration: Histogram,
    pub(super) changes: ChangeSeries,
}

impl Series {
    /// Records one step of the queue. Adds differences, so that queues of the same name add up.
    pub(super) fn record(&self, before: &QueueState, after: &QueueState) {
        if after.depth >= before.depth {
            self.depth.inc_by(signed(after.depth - before.depth));
        } else {
            self.depth.dec_by(signed(before.depth - after.depth));
        }
        self.adds.inc_by(after.adds - before.adds);
        self.retries.inc_by(after.retries - before.retries);
    }
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Figures that are read from a queue at each scrape.
pub(super) struct QueueSources {
    /// The time for which each key has been processed so far.
    pub(super) running: Source<Vec<Duration>>,
    /// The age of the oldest change that has not been written.
    pub(super) oldest: Source<Duration>,
    pub(super) failing: Source<FailingCounts>,
}

/// Encodes the two gauges about running work. (Upstream refreshes them every 500 ms instead of at each scrape.)
fn encode_running(running: &Sources<Vec<Duration>>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut unfinished = Vec::new();
    let mut longest = Vec::new();
    for (name, running) in running.read() {
        let running = || running.iter().flatten();
        unfinished.push(([("name", name.clone())], running().sum::<Duration>().as_secs_f64()));
        longest.push(([("name", name)], running().max().map_or(0.0, Duration::as_secs_f64)));
    }
    encode_gauge(
        encoder,
        "workqueue_unfinished_work_seconds",
        "[BETA] Time in seconds that the keys being processed have taken so far, added up. \
         A value that keeps growing means stuck workers; its slope is their number.",
        unfinished,
    )?;
    encode_gauge(
        encoder,
        "workqueue_longest_running_processor_seconds",
        "[BETA] Time in seconds that the longest running worker has been processing its key.",
        longest,
    )
}
