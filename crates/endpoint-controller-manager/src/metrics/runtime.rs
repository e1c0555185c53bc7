//! The `tokio_*` metrics: how busy the threads of each runtime are.

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::runtime::RuntimeMetrics;

use crate::metrics::process::Total;
use crate::runtimes::Handles;

/// Reads the figures of the runtimes at each scrape.
pub(crate) struct TokioMetrics([(&'static str, RuntimeMetrics); 3]);

impl TokioMetrics {
    pub(crate) fn of(handles: &Handles) -> Self {
        let Handles { control, server, work } = handles;
        Self([("control", control.metrics()), ("server", server.metrics()), ("work", work.metrics())])
    }
}

impl fmt::Debug for TokioMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(runtime, _)| runtime)).finish()
    }
}

impl Collector for TokioMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.encode_metric(
            &mut encoder,
            "tokio_worker_busy_seconds_total",
            "[ALPHA] Time in seconds that the threads of a runtime have spent with tasks, added up",
            |runtime| Total(busy(runtime).as_secs_f64()),
        )?;
        self.encode_metric(
            &mut encoder,
            "tokio_workers",
            "[ALPHA] Number of threads of a runtime",
            |runtime| ConstGauge::new(as_f64(runtime.num_workers())),
        )?;
        self.encode_metric(
            &mut encoder,
            "tokio_global_queue_depth",
            "[ALPHA] Number of tasks that wait in the queue that all threads of a runtime share",
            |runtime| ConstGauge::new(as_f64(runtime.global_queue_depth())),
        )?;
        self.encode_metric(
            &mut encoder,
            "tokio_alive_tasks",
            "[ALPHA] Number of tasks of a runtime that have not ended",
            |runtime| ConstGauge::new(as_f64(runtime.num_alive_tasks())),
        )
    }
}

impl TokioMetrics {
    fn encode_metric<M: EncodeMetric>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        read: impl Fn(&RuntimeMetrics) -> M,
    ) -> fmt::Result {
        let metrics = self.0.each_ref().map(|(runtime, metrics)| (*runtime, read(metrics)));
        let mut family = encoder.encode_descriptor(name, help, None, metrics[0].1.metric_type())?;
        for (runtime, metric) in metrics {
            metric.encode(family.encode_family(&[("runtime", runtime)])?)?;
        }
        Ok(())
    }
}

fn busy(runtime: &RuntimeMetrics) -> Duration {
    (0..runtime.num_workers()).map(|worker| runtime.worker_total_busy_duration(worker)).sum()
}

#[allow(clippy::cast_precision_loss)] // numbers of threads and tasks
fn as_f64(count: usize) -> f64 {
    count as f64
}
