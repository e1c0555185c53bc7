//! The metric that counts the writes of the controllers' objects by other clients.

use kube_api::computed::{self, encode_series};
use kube_api::plain_counter::PlainCounter;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

/// Registers it for these controllers.
pub(crate) fn register(writes: Vec<(&'static str, PlainCounter)>, registry: &mut Registry) {
    computed::register(registry, move |encoder| {
        let name = "foreign_writes_total";
        let help = "[ALPHA] Number of versions of this controller's objects that other field managers wrote while this \
                    process led";
        let series = writes.iter().map(|(controller, writes)| ([("controller", *controller)], writes.get()));
        encode_series(encoder, name, help, MetricType::Counter, series)
    });
}
