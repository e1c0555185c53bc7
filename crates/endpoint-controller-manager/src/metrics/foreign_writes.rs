//! The metric that counts the writes of the controllers' objects by other clients.

use std::fmt;
use std::sync::Arc;

use endpoint_informers::controller::Controller;
use kube_api::computed::encode_series;
use kube_api::plain_counter::PlainCounter;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

/// The foreign writes that the controllers of a process see, by the name of the controller.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForeignWrites(Arc<Mutex<Vec<(&'static str, PlainCounter)>>>);

impl ForeignWrites {
    /// Registers the metric.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let writes = Self::default();
        registry.register_collector(Box::new(writes.clone()));
        writes
    }

    /// Shows the count of a controller from now on.
    pub(crate) fn follow<C: Controller>(&self, controller: &C) {
        let writes = controller.repairs().map(|repairs| (C::NAME, repairs.foreign_writes()));
        self.0.lock().extend(writes);
    }
}

impl Collector for ForeignWrites {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "[ALPHA] Number of versions of this controller's objects that other field managers wrote while this \
                    process led";
        let writes = self.0.lock();
        let series = writes.iter().map(|(controller, writes)| ([("controller", *controller)], writes.get()));
        encode_series(&mut encoder, "foreign_writes_total", help, MetricType::Counter, series)
    }
}
