//! What list-watches count.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::plain_counter::PlainCounter;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Resource {
    resource: &'static str,
}

/// The metrics of all list-watches of the process. Clones share their values.
///
/// client-go has none of its own for its reflectors any more; these are ours.
#[derive(Clone, Debug, Default)]
pub struct ListWatchMetrics {
    unreadable: Family<Resource, PlainCounter>,
}

impl ListWatchMetrics {
    /// Metrics that appear in `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "list_watch_unreadable_objects_total",
            "[ALPHA] Number of objects from lists and watches that could not be read and were left as they were",
            metrics.unreadable.clone(),
        );
        metrics
    }

    /// The counter of one kind, which is exposed from now on, as 0.
    pub(super) fn unreadable(&self, resource: &'static str) -> PlainCounter {
        self.unreadable.get_or_create_owned(&Resource { resource })
    }
}
