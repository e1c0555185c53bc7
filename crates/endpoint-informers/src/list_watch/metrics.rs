//! The metrics of list-watches.

use std::time::Duration;

use kube_api::plain_counter::PlainCounter;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::resource::Resource;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabel {
    resource: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InformerLabels {
    name: &'static str,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
}

/// The metrics of all list-watches of the process. Clones share their values.
///
/// The two `informer_*` metrics are those of `k8s.io/component-base` (`metrics/prometheus/clientgo/fifo`), which has a
/// third metric for a queue that doesn't exist here. The `list_watch_*` metrics have no counterpart upstream.
#[derive(Clone, Debug)]
pub struct ListWatchMetrics {
    name: &'static str,
    latency: Family<InformerLabels, Histogram, fn() -> Histogram>,
    resource_version: Family<InformerLabels, Gauge>,
    unreadable: Family<ResourceLabel, PlainCounter>,
    failures: Family<ResourceLabel, PlainCounter>,
    gaps: Family<ResourceLabel, PlainCounter>,
    live: Family<ResourceLabel, Gauge>,
}

impl ListWatchMetrics {
    /// Registers the metrics in `registry`. `name` is the value of the label `name`, which identifies the informers of
    /// this process.
    pub fn register(registry: &mut Registry, name: &'static str) -> Self {
        let metrics = Self { name, ..Self::default() };
        registry.register(
            "informer_processing_latency_seconds",
            "[ALPHA] Time in seconds to store up to 128 events that arrived together, or a page of a list, and to queue the affected keys",
            metrics.latency.clone(),
        );
        registry.register(
            "informer_store_resource_version",
            "[ALPHA] The 15 least significant digits of the resource version of the store",
            metrics.resource_version.clone(),
        );
        registry.register(
            "list_watch_unreadable_objects_total",
            "[ALPHA] Number of objects from lists and watches that could not be read and were left as they were",
            metrics.unreadable.clone(),
        );
        registry.register(
            "list_watch_failures_total",
            "[ALPHA] Number of lists and watches that failed and were tried again, without watches that were resumed at once",
            metrics.failures.clone(),
        );
        registry.register(
            "list_watch_gaps_total",
            "[ALPHA] Number of watches that could not be resumed where they had broken, so that a new list was required",
            metrics.gaps.clone(),
        );
        registry.register(
            "list_watch_live",
            "[ALPHA] Whether the cache follows the API server: 1 while a watch continues from a complete list, and 0 while a list \
             or a watch is requested or waits for its next attempt",
            metrics.live.clone(),
        );
        metrics
    }

    /// The series of one kind, which are exposed from now on.
    pub(super) fn of_kind<K: Resource>(&self) -> Series {
        let (group, version) = group_and_version(K::PATH);
        let informer = InformerLabels { name: self.name, group, version, resource: K::RESOURCE };
        let resource = ResourceLabel { resource: K::RESOURCE };
        Series {
            latency: self.latency.get_or_create_owned(&informer),
            resource_version: self.resource_version.get_or_create_owned(&informer),
            unreadable: self.unreadable.get_or_create_owned(&resource),
            failures: self.failures.get_or_create_owned(&resource),
            gaps: self.gaps.get_or_create_owned(&resource),
            live: self.live.get_or_create_owned(&resource),
        }
    }
}

impl Default for ListWatchMetrics {
    /// Metrics that are not exposed.
    fn default() -> Self {
        Self {
            name: "",
            latency: Family::new_with_constructor(latencies),
            resource_version: Family::default(),
            unreadable: Family::default(),
            failures: Family::default(),
            gaps: Family::default(),
            live: Family::default(),
        }
    }
}

fn latencies() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

/// The group and version in the path of a collection: `/api/v1/…` or `/apis/group/version/…`.
fn group_and_version(path: &'static str) -> (&'static str, &'static str) {
    let mut segments = path.split('/').skip(1);
    match (segments.next(), segments.next(), segments.next()) {
        (Some("apis"), Some(group), Some(version)) => (group, version),
        (_, version, _) => ("", version.unwrap_or_default()),
    }
}

/// The series of one kind.
#[derive(Debug)]
pub(super) struct Series {
    latency: Histogram,
    resource_version: Gauge,
    unreadable: PlainCounter,
    failures: PlainCounter,
    gaps: PlainCounter,
    live: Gauge,
}

impl Series {
    pub(super) fn processed(&self, took: Duration) {
        self.latency.observe(took.as_secs_f64());
    }

    /// Sets the resourceVersion of the cache. A version that isn't a number is ignored.
    pub(super) fn at(&self, resource_version: &str) {
        let first = resource_version.len().saturating_sub(15);
        if let Some(Ok(number)) = resource_version.get(first..).map(str::parse) {
            self.resource_version.set(number);
        }
    }

    pub(super) fn skipped(&self) {
        self.unreadable.inc();
    }

    pub(super) fn failed(&self) {
        self.failures.inc();
    }

    pub(super) fn lost_history(&self) {
        self.gaps.inc();
    }

    pub(super) fn set_live(&self, live: bool) {
        self.live.set(live.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::CachedSlice;
    use endpointslice::Pod;

    #[test]
    fn series_have_the_labels_of_their_kind() {
        let mut registry = Registry::default();
        let metrics = ListWatchMetrics::register(&mut registry, "me");
        metrics.of_kind::<Pod>().at("7");
        let slices = metrics.of_kind::<CachedSlice>();
        for version in ["1234567890123456789", "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", "x", ""] {
            slices.at(version);
        }
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let shown = |labels: &str, value: u64| {
            text.lines().any(|line| line == format!("informer_store_resource_version{{{labels}}} {value}"))
        };
        assert!(shown("name=\"me\",group=\"\",version=\"v1\",resource=\"pods\"", 7), "{text}");
        let slices = "name=\"me\",group=\"discovery.k8s.io\",version=\"v1\",resource=\"endpointslices\"";
        assert!(shown(slices, 567_890_123_456_789), "{text}");
    }
}
