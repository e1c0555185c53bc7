//! Upstream's metrics, name by name (`k8s.io/endpointslice` `metrics/metrics.go`, `metrics/cache.go`).

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use controller_runtime::cache::ObjectKey;
use controller_runtime::plain_counter::PlainCounter;
use controller_runtime::slice_writer::Written;
use endpointslice::{AddressTypePlan, Service, SlicePlan, TrafficDistribution};
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The outcome of a sync, as a label.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SyncResult {
    Success,
    Stale,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabel {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TopologyLabels {
    topology: &'static str,
    traffic_distribution: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TrafficLabel {
    traffic_distribution: String,
}

pub(crate) struct Metrics {
    endpoints_added: Histogram,
    endpoints_updated: Histogram,
    endpoints_removed: Histogram,
    addresses_skipped: Histogram,
    sync_duration: Histogram,
    changed_per_sync: Family<TopologyLabels, Histogram, fn() -> Histogram>,
    changes: Family<OperationLabel, PlainCounter>,
    syncs: Family<ResultLabel, PlainCounter>,
    totals: Mutex<Totals>,
    endpoints_desired: Gauge,
    num_slices: Gauge,
    desired_slices: Gauge,
    by_traffic_distribution: Family<TrafficLabel, Gauge>,
    max_endpoints_per_slice: usize,
}

/// Sums over all Services, and what each contributes to them.
#[derive(Default)]
struct Totals {
    services: HashMap<ObjectKey, Contribution>,
    sum: Contribution,
    by_traffic_distribution: BTreeMap<String, i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Contribution {
    endpoints: i64,
    slices: i64,
    desired_slices: i64,
    traffic_distribution: Option<String>,
}

/// Buckets of upstream's per-sync histograms: 2, 4, 8 … 32768.
fn per_sync() -> Histogram {
    Histogram::new(exponential_buckets(2.0, 2.0, 15))
}

/// Prometheus' default buckets, which upstream gets for a histogram that declares none.
fn default_buckets() -> Histogram {
    Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

impl Metrics {
    pub(crate) fn register(registry: &mut Registry, max_endpoints_per_slice: usize) -> Self {
        let metrics = Self {
            endpoints_added: per_sync(),
            endpoints_updated: per_sync(),
            endpoints_removed: per_sync(),
            addresses_skipped: per_sync(),
            sync_duration: Histogram::new(exponential_buckets(0.001, 2.0, 15)),
            changed_per_sync: Family::new_with_constructor(default_buckets),
            changes: Family::default(),
            syncs: Family::default(),
            totals: Mutex::default(),
            endpoints_desired: Gauge::default(),
            num_slices: Gauge::default(),
            desired_slices: Gauge::default(),
            by_traffic_distribution: Family::default(),
            max_endpoints_per_slice,
        };
        let registry = registry.sub_registry_with_prefix("endpoint_slice_controller");
        registry.register(
            "endpoints_added_per_sync",
            "[BETA] Number of endpoints added on each Service sync",
            metrics.endpoints_added.clone(),
        );
        registry.register(
            "endpoints_removed_per_sync",
            "[BETA] Number of endpoints removed on each Service sync",
            metrics.endpoints_removed.clone(),
        );
        // The next three are common to all users of the reconciler (KEP-4770); upstream has them for mirroring only.
        registry.register(
            "endpoints_updated_per_sync",
            "[ALPHA] Number of endpoints updated on each Service sync",
            metrics.endpoints_updated.clone(),
        );
        registry.register(
            "addresses_skipped_per_sync",
            "[ALPHA] Number of addresses skipped on each Service sync, because they are not allowed in slices",
            metrics.addresses_skipped.clone(),
        );
        registry.register(
            "endpoints_sync_duration",
            "[ALPHA] Duration of a Service sync in seconds",
            metrics.sync_duration.clone(),
        );
        registry.register(
            "endpoints_desired",
            "[BETA] Number of endpoints desired",
            metrics.endpoints_desired.clone(),
        );
        registry.register(
            "num_endpoint_slices",
            "[BETA] Number of EndpointSlices",
            metrics.num_slices.clone(),
        );
        registry.register(
            "desired_endpoint_slices",
            "[BETA] Number of EndpointSlices that would exist with perfect endpoint allocation",
            metrics.desired_slices.clone(),
        );
        registry.register("changes", "[ALPHA] Number of EndpointSlice changes", metrics.changes.clone());
        registry.register("syncs", "[ALPHA] Number of EndpointSlice syncs", metrics.syncs.clone());
        registry.register(
            "endpointslices_changed_per_sync",
            "[ALPHA] Number of EndpointSlices changed on each Service sync",
            metrics.changed_per_sync.clone(),
        );
        registry.register(
            "services_count_by_traffic_distribution",
            "[BETA] Number of Services using some specific trafficDistribution",
            metrics.by_traffic_distribution.clone(),
        );
        metrics
    }

    /// Counts a sync and how long it took.
    pub(crate) fn synced(&self, result: SyncResult, duration: Duration) {
        self.sync_duration.observe(duration.as_secs_f64());
        let result = match result {
            SyncResult::Success => "success",
            SyncResult::Stale => "stale",
            SyncResult::Error => "error",
        };
        self.syncs.get_or_create(&ResultLabel { result }).inc();
    }

    pub(crate) fn skipped(&self, addresses: usize) {
        self.addresses_skipped.observe(as_f64(addresses));
    }

    pub(crate) fn written(&self, written: &Written<'_>) {
        let operation = match written {
            Written::Created(_) => "create",
            Written::Updated(_) => "update",
            Written::Deleted(_) => "delete",
        };
        self.changes.get_or_create(&OperationLabel { operation }).inc();
    }

    /// Counts a plan before it is applied, as upstream does: a failed write doesn't take the figures back.
    pub(crate) fn planned(&self, key: &ObjectKey, service: &Service, plan: &SlicePlan) {
        for plan in &plan.types {
            self.endpoints_added.observe(as_f64(plan.statistics.endpoints_added));
            self.endpoints_updated.observe(as_f64(plan.statistics.endpoints_updated));
            self.endpoints_removed.observe(as_f64(plan.statistics.endpoints_removed));
        }
        let contribution = self.contribution(service, plan);
        self.replace(key, Some(contribution));
    }

    pub(crate) fn applied(&self, service: &Service, plan: &SlicePlan) {
        let traffic_distribution = traffic_distribution(service).unwrap_or_default();
        let topology = if service.wants_topology_hints() { "Auto" } else { "Disabled" };
        let histogram =
            self.changed_per_sync.get_or_create(&TopologyLabels { topology, traffic_distribution });
        for changes in plan.types.iter().map(AddressTypePlan::changes) {
            histogram.observe(as_f64(changes));
        }
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.replace(key, None);
    }

    fn contribution(&self, service: &Service, plan: &SlicePlan) -> Contribution {
        let groups = || plan.types.iter().flat_map(|plan| plan.statistics.groups.values());
        let desired: usize =
            groups().map(|group| group.endpoints.div_ceil(self.max_endpoints_per_slice)).sum();
        Contribution {
            endpoints: as_i64(groups().map(|group| group.endpoints).sum()),
            slices: as_i64(groups().map(|group| group.slices).sum()),
            desired_slices: as_i64(desired.max(1)),
            traffic_distribution: traffic_distribution(service),
        }
    }

    fn replace(&self, key: &ObjectKey, new: Option<Contribution>) {
        let mut totals = self.totals.lock();
        if totals.services.get(key) == new.as_ref() {
            return;
        }
        let old = match &new {
            Some(new) => totals.services.insert(key.clone(), new.clone()),
            None => totals.services.remove(key),
        };
        for (contribution, sign) in [(old, -1), (new, 1)] {
            totals.add(contribution.unwrap_or_default(), sign);
        }
        self.endpoints_desired.set(totals.sum.endpoints);
        self.num_slices.set(totals.sum.slices);
        self.desired_slices.set(totals.sum.desired_slices);
        // A value once seen stays, possibly as 0.
        for (value, count) in &totals.by_traffic_distribution {
            let label = TrafficLabel { traffic_distribution: value.clone() };
            self.by_traffic_distribution.get_or_create(&label).set(*count);
        }
    }
}

impl Totals {
    fn add(&mut self, contribution: Contribution, sign: i64) {
        self.sum.endpoints += sign * contribution.endpoints;
        self.sum.slices += sign * contribution.slices;
        self.sum.desired_slices += sign * contribution.desired_slices;
        if let Some(value) = contribution.traffic_distribution {
            *self.by_traffic_distribution.entry(value).or_default() += sign;
        }
    }
}

/// The value of `trafficDistribution` if it has an effect.
fn traffic_distribution(service: &Service) -> Option<String> {
    TrafficDistribution::of(service)?;
    service.traffic_distribution.as_deref().map(ToOwned::to_owned)
}

#[allow(clippy::cast_precision_loss)] // counts of endpoints stay far below 2^52
fn as_f64(count: usize) -> f64 {
    count as f64
}

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
