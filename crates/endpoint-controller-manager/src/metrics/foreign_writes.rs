//! The metric that counts the writes of the controllers' objects by other clients.

use std::fmt;
use std::sync::Arc;

use endpoint_informers::controller::Controller;
use kube_api::plain_counter::PlainCounter;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
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
        let mut family =
            encoder.encode_descriptor("foreign_writes_total", help, None, MetricType::Counter)?;
        for &(controller, ref writes) in &*self.0.lock() {
            writes.encode(family.encode_family(&[("controller", controller)])?)?;
        }
        Ok(())
    }
}
