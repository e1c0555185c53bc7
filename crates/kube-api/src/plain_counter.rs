//! A counter exposed under its registered name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// A [`Counter`](prometheus_client::metrics::counter::Counter) whose name is not changed.
///
/// `prometheus-client` writes OpenMetrics: it appends `_total` to the samples of a counter and leaves it out of the
/// type line. Upstream serves the Prometheus text format 0.0.4, where both lines carry the full name, and some of its
/// counters (`endpoint_slice_controller_changes`) have no `_total` at all; dashboards know them by these names.
/// Strict OpenMetrics does not allow that, so serve it as `text/plain; version=0.0.4`.
///
/// Clones share one value. It can be a member of a `Family`.
#[derive(Debug, Clone, Default)]
pub struct PlainCounter(Arc<AtomicU64>);

impl PlainCounter {
    /// Adds one.
    pub fn inc(&self) {
        self.inc_by(1);
    }

    /// Adds `n`. Wraps at `u64::MAX`, which rate functions take for a restart.
    pub fn inc_by(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The current value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl TypedMetric for PlainCounter {
    const TYPE: MetricType = MetricType::Counter;
}

impl EncodeMetric for PlainCounter {
    /// Goes through the encoder for gauges, the only one that does not change the name.
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        encoder.encode_gauge(&self.get())
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::registry::Registry;

    #[test]
    fn exposes_the_registered_name() {
        let mut registry = Registry::default();
        let changes = Family::<[(&'static str, &'static str); 1], PlainCounter>::default();
        registry.register(
            "endpoint_slice_controller_changes",
            "Number of EndpointSlice changes",
            changes.clone(),
        );
        changes.get_or_create(&[("operation", "create")]).inc_by(3);
        changes.get_or_create_owned(&[("operation", "create")]).inc();

        let text = scripted_api::candidates::metrics(&registry);
        assert_eq!(
            text,
            "# HELP endpoint_slice_controller_changes Number of EndpointSlice changes.\n\
             # TYPE endpoint_slice_controller_changes counter\n\
             endpoint_slice_controller_changes{operation=\"create\"} 4\n\
             # EOF\n"
        );
    }
}
