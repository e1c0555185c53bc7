//! Upstream's metrics, name by name (`k8s.io/endpointslice` `metrics/metrics.go`, `metrics/cache.go`), and two of writes that
//! wait for others.

use std::collections::HashMap;

use controller_kit::key::ObjectKey;
use endpoint_controllers_common::{HintLabels, OwnerTotals, SliceMetrics};
use endpoint_informers::slices::Applied;
use endpointslice::plan::TrafficDistribution;
use endpointslice::{Service, SlicePlan};
use kube_api::plain_counter::PlainCounter;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

const PREFIX: &str = "endpoint_slice_controller";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TrafficLabel {
    traffic_distribution: String,
}

pub(crate) struct Metrics {
    pub(crate) common: SliceMetrics,
    /// Services whose `trafficDistribution` has an effect, and its value.
    traffic: Mutex<HashMap<ObjectKey, String>>,
    by_traffic_distribution: Family<TrafficLabel, Gauge>,
    deferred: PlainCounter,
    expired: PlainCounter,
    max_endpoints_per_slice: usize,
}

impl Metrics {
    pub(crate) fn register(registry: &mut Registry, max_endpoints_per_slice: usize) -> Self {
        let registry = registry.sub_registry_with_prefix(PREFIX);
        let metrics = Self {
            common: SliceMetrics::register(registry, "Service", "BETA"),
            traffic: Mutex::default(),
            by_traffic_distribution: Family::default(),
            deferred: PlainCounter::default(),
            expired: PlainCounter::default(),
            max_endpoints_per_slice,
        };
        registry.register(
            "services_count_by_traffic_distribution",
            "[BETA] Number of Services using some specific trafficDistribution",
            metrics.by_traffic_distribution.clone(),
        );
        metrics
    }

    /// Registers the metrics of writes that wait, in the same registry.
    pub(crate) fn register_deferred(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix(PREFIX);
        for (name, help, counter) in [
            ("deferred_writes", "deferred to wait for another write of the slice", &self.deferred),
            ("deferred_writes_expired", "made because they had waited for the longest time", &self.expired),
        ] {
            let help = format!("[ALPHA] Number of EndpointSlice writes that were {help}");
            registry.register(name, help, counter.clone());
        }
    }

    /// Counts the writes that wait from now on, and those that may wait no longer.
    pub(crate) fn deferred(&self, (deferred, expired): (usize, usize)) {
        for (counter, writes) in [(&self.deferred, deferred), (&self.expired, expired)] {
            counter.inc_by(u64::try_from(writes).unwrap_or(u64::MAX));
        }
    }

    /// Counts a plan, as upstream also if its writes fail: a failed write is not subtracted. A plan that
    /// another sync continues is counted once.
    pub(crate) fn planned(&self, key: &ObjectKey, service: &Service, plan: &SlicePlan, continues: bool) {
        for plan in plan.types.iter().filter(|_| !continues) {
            self.common.planned([plan]);
        }
        let totals = OwnerTotals::of(plan, self.max_endpoints_per_slice);
        let desired_slices = totals.desired_slices.max(1);
        self.common.replace(key, Some(OwnerTotals { desired_slices, ..totals }));
        self.count_traffic(key, traffic_distribution(service));
    }

    /// Counts the writes and changes of a plan.
    pub(crate) fn applied(&self, service: &Service, plan: &SlicePlan, applied: &Applied) {
        let traffic_distribution = traffic_distribution(service).unwrap_or_default();
        let topology = if service.wants_topology_hints() { "Auto" } else { "Disabled" };
        self.common.applied(&HintLabels { topology, traffic_distribution }, plan, applied);
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.common.replace(key, None);
        self.count_traffic(key, None);
    }

    /// The Services that the metrics count, those with an effective `trafficDistribution` twice.
    pub(crate) fn services(&self) -> Vec<ObjectKey> {
        let mut services = self.common.owners();
        services.extend(self.traffic.lock().keys().cloned());
        services
    }

    /// A label value that was used once stays, possibly with 0.
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
