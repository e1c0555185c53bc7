//! Upstream's metrics, name by name (`k8s.io/endpointslice` `metrics/metrics.go`, `metrics/cache.go`).

use std::collections::HashMap;
use std::time::Duration;

use endpoint_informers::cache::ObjectKey;
use endpoint_informers::slice_metrics::{HintLabels, OwnerTotals, SliceMetrics};
use endpoint_informers::slice_sync::SyncError;
use endpoint_informers::slice_writer::Written;
use endpointslice::plan::{AddressTypePlan, TrafficDistribution};
use endpointslice::{Service, SlicePlan};
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TrafficLabel {
    traffic_distribution: String,
}

pub(crate) struct Metrics {
    common: SliceMetrics,
    /// Services whose `trafficDistribution` has an effect, and its value.
    traffic: Mutex<HashMap<ObjectKey, String>>,
    by_traffic_distribution: Family<TrafficLabel, Gauge>,
    max_endpoints_per_slice: usize,
}

impl Metrics {
    pub(crate) fn register(registry: &mut Registry, max_endpoints_per_slice: usize) -> Self {
        let registry = registry.sub_registry_with_prefix("endpoint_slice_controller");
        let metrics = Self {
            common: SliceMetrics::register(registry, "Service", "BETA"),
            traffic: Mutex::default(),
            by_traffic_distribution: Family::default(),
            max_endpoints_per_slice,
        };
        registry.register(
            "services_count_by_traffic_distribution",
            "[BETA] Number of Services using some specific trafficDistribution",
            metrics.by_traffic_distribution.clone(),
        );
        metrics
    }

    pub(crate) fn synced(&self, outcome: &Result<(), SyncError>, duration: Duration) {
        self.common.synced(outcome, duration);
    }

    pub(crate) fn skipped(&self, addresses: usize) {
        self.common.skipped(addresses);
    }

    pub(crate) fn written(&self, written: &Written<'_>) {
        self.common.written(written);
    }

    /// Counts a plan before it is applied, as upstream does: a failed write doesn't take the figures back. The rest of a
    /// plan that was counted already is not counted again.
    pub(crate) fn planned(&self, key: &ObjectKey, service: &Service, plan: &SlicePlan, continues: bool) {
        for plan in plan.types.iter().filter(|_| !continues) {
            self.common.planned([plan]);
        }
        let figures = OwnerTotals::of(plan, self.max_endpoints_per_slice);
        let desired_slices = figures.desired_slices.max(1);
        self.common.replace(key, Some(OwnerTotals { desired_slices, ..figures }));
        self.count_traffic(key, traffic_distribution(service));
    }

    /// Counts the changes of complete plans, and those of one that was cut off.
    pub(crate) fn applied<'a>(
        &self,
        service: &Service,
        plans: impl Iterator<Item = &'a AddressTypePlan>,
        cut_after: Option<usize>,
    ) {
        let traffic_distribution = traffic_distribution(service).unwrap_or_default();
        let topology = if service.wants_topology_hints() { "Auto" } else { "Disabled" };
        let distribution = HintLabels { topology, traffic_distribution };
        self.common.applied(&distribution, plans);
        if let Some(changes) = cut_after {
            self.common.changed(&distribution, changes);
        }
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.common.replace(key, None);
        self.count_traffic(key, None);
    }

    /// A value once seen stays, possibly as 0.
    fn count_traffic(&self, key: &ObjectKey, new: Option<String>) {
        let mut services = self.traffic.lock();
        if services.get(key) == new.as_ref() {
            return;
        }
        let gauge = |value: &str| {
            let label = TrafficLabel { traffic_distribution: value.to_owned() };
            self.by_traffic_distribution.get_or_create_owned(&label)
        };
        if let Some(new) = &new {
            gauge(new).inc();
        }
        let old = match new {
            Some(new) => services.insert(key.clone(), new),
            None => services.remove(key),
        };
        if let Some(old) = &old {
            gauge(old).dec();
        }
    }
}

/// The value of `trafficDistribution` if it has an effect.
fn traffic_distribution(service: &Service) -> Option<String> {
    TrafficDistribution::of(service)?;
    service.traffic_distribution.as_deref().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests;
