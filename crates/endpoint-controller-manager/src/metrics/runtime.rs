//! The `tokio_*` metrics: how busy the threads of each runtime are.

use std::time::Duration;

use kube_api::computed::{self, encode_series};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tokio::runtime::RuntimeMetrics;

use crate::runtimes::Handles;

/// A name, a help text, the type, and the figure of a runtime.
type Metric = (&'static str, &'static str, MetricType, fn(&RuntimeMetrics) -> f64);

const METRICS: [Metric; 4] = [
    (
        "tokio_worker_busy_seconds_total",
        "[ALPHA] Time in seconds that the threads of a runtime have spent with tasks, added up",
        MetricType::Counter,
        |runtime| busy(runtime).as_secs_f64(),
    ),
    ("tokio_workers", "[ALPHA] Number of threads of a runtime", MetricType::Gauge, |runtime| {
        as_f64(runtime.num_workers())
    }),
    (
        "tokio_global_queue_depth",
        "[ALPHA] Number of tasks that wait in the queue that all threads of a runtime share",
        MetricType::Gauge,
        |runtime| as_f64(runtime.global_queue_depth()),
    ),
    (
        "tokio_alive_tasks",
        "[ALPHA] Number of tasks of a runtime that have not ended",
        MetricType::Gauge,
        |runtime| as_f64(runtime.num_alive_tasks()),
    ),
];

/// Registers them; each scrape reads the figures.
pub(crate) fn register(handles: &Handles, registry: &mut Registry) {
    let Handles { control, server, work } = handles;
    let runtimes = [("control", control.metrics()), ("server", server.metrics()), ("work", work.metrics())];
    computed::register(registry, move |encoder| {
        for (name, help, metric_type, read) in METRICS {
            let series = runtimes.iter().map(|(runtime, figures)| ([("runtime", *runtime)], read(figures)));
            encode_series(encoder, name, help, metric_type, series)?;
        }
        Ok(())
    });
}

fn busy(runtime: &RuntimeMetrics) -> Duration {
    (0..runtime.num_workers()).map(|worker| runtime.worker_total_busy_duration(worker)).sum()
}

#[allow(clippy::cast_precision_loss)] // numbers of threads and tasks
fn as_f64(count: usize) -> f64 {
    count as f64
}
