//! The metrics that controllers of slices have in common, with upstream's names (KEP-4770; `k8s.io/endpointslice` and
//! `pkg/controller/endpointslicemirroring`, `metrics/metrics.go` and `metrics/cache.go` of each).

use std::collections::HashMap;
use std::ops::{AddAssign, SubAssign};
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpoint_informers::slices::{Applied, SyncError};
use endpointslice::SlicePlan;
use endpointslice::plan::AddressTypePlan;
use kube_api::plain_counter::PlainCounter;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabel {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

/// The rule that hints were computed by, as upstream's labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct HintLabels {
    /// `Auto` if the annotation asks for topology-aware hints, otherwise `Disabled`.
    pub topology: &'static str,
    /// The Service's `trafficDistribution` if it has an effect, otherwise empty.
    pub traffic_distribution: String,
}

impl Default for HintLabels {
    fn default() -> Self {
        Self { topology: "Disabled", traffic_distribution: String::new() }
    }
}

/// The metrics of one controller's syncs, and totals over all owners of its slices.
pub struct SliceMetrics {
    endpoints_added: Histogram,
    endpoints_updated: Histogram,
    endpoints_removed: Histogram,
    addresses_skipped: Histogram,
    sync_duration: Histogram,
    syncs: Family<ResultLabel, PlainCounter>,
    changed_per_sync: Family<HintLabels, Histogram, fn() -> Histogram>,
    changes: Family<OperationLabel, PlainCounter>,
    totals: Mutex<Totals>,
    endpoints_desired: Gauge,
    num_slices: Gauge,
    desired_slices: Gauge,
}

#[derive(Default)]
struct Totals {
    owners: HashMap<ObjectKey, OwnerTotals>,
    sum: OwnerTotals,
}

/// The contribution of one owner to the gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerTotals {
    /// Desired endpoints.
    pub endpoints: i64,
    /// Slices after the plan is applied.
    pub slices: i64,
    /// The minimum number of slices for these endpoints.
    pub desired_slices: i64,
}

impl OwnerTotals {
    /// The totals of a plan with at most `max` endpoints in a slice.
    pub fn of(plan: &SlicePlan, max: usize) -> Self {
        let groups = || plan.types.iter().flat_map(|plan| plan.statistics.groups.values());
        Self {
            endpoints: as_i64(groups().map(|group| group.endpoints).sum()),
            slices: as_i64(groups().map(|group| group.slices).sum()),
            desired_slices: as_i64(groups().map(|group| group.endpoints.div_ceil(max.max(1))).sum()),
        }
    }
}

impl AddAssign for OwnerTotals {
    fn add_assign(&mut self, other: Self) {
        self.endpoints += other.endpoints;
        self.slices += other.slices;
        self.desired_slices += other.desired_slices;
    }
}

impl SubAssign for OwnerTotals {
    fn sub_assign(&mut self, other: Self) {
        self.endpoints -= other.endpoints;
        self.slices -= other.slices;
        self.desired_slices -= other.desired_slices;
    }
}

/// A histogram with the buckets of upstream's per-sync histograms: 2, 4, 8 … 32768.
fn per_sync() -> Histogram {
    Histogram::new(exponential_buckets(2.0, 2.0, 15))
}

/// A histogram with Prometheus' default buckets, as upstream's histograms that declare none.
fn default_buckets() -> Histogram {
    Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

impl SliceMetrics {
    /// The owners that the totals count.
    pub fn owners(&self) -> Vec<ObjectKey> {
        self.totals.lock().owners.keys().cloned().collect()
    }

    /// Registers the metrics in `registry`, whose prefix is the controller's. `owner` is the kind that is synced.
    /// `stability` is the stability level, in the help, of the metrics that upstream promoted for one controller only.
    pub fn register(registry: &mut Registry, owner: &str, stability: &str) -> Self {
        let metrics = Self {
            endpoints_added: per_sync(),
            endpoints_updated: per_sync(),
            endpoints_removed: per_sync(),
            addresses_skipped: per_sync(),
            sync_duration: Histogram::new(exponential_buckets(0.001, 2.0, 15)),
            syncs: Family::default(),
            changed_per_sync: Family::new_with_constructor(default_buckets),
            changes: Family::default(),
            totals: Mutex::default(),
            endpoints_desired: Gauge::default(),
            num_slices: Gauge::default(),
            desired_slices: Gauge::default(),
        };
        for (name, stability, what, histogram) in [
            ("endpoints_added_per_sync", stability, "endpoints added", &metrics.endpoints_added),
            ("endpoints_updated_per_sync", "ALPHA", "endpoints updated", &metrics.endpoints_updated),
            ("endpoints_removed_per_sync", stability, "endpoints removed", &metrics.endpoints_removed),
            ("addresses_skipped_per_sync", "ALPHA", "addresses skipped", &metrics.addresses_skipped),
        ] {
            let help = format!("[{stability}] Number of {what} on each {owner} sync");
            registry.register(name, help, histogram.clone());
        }
        let help = format!("[ALPHA] Duration of a sync of {owner} in seconds");
        registry.register("endpoints_sync_duration", help, metrics.sync_duration.clone());
        for (name, what, gauge) in [
            ("endpoints_desired", "endpoints desired", &metrics.endpoints_desired),
            ("num_endpoint_slices", "EndpointSlices", &metrics.num_slices),
            (
                "desired_endpoint_slices",
                "EndpointSlices that would exist with perfect endpoint allocation",
                &metrics.desired_slices,
            ),
        ] {
            registry.register(name, format!("[{stability}] Number of {what}"), gauge.clone());
        }
        registry.register("changes", "[ALPHA] Number of EndpointSlice changes", metrics.changes.clone());
        registry.register("syncs", "[ALPHA] Number of EndpointSlice syncs", metrics.syncs.clone());
        let help = format!("[ALPHA] Number of EndpointSlices changed on each {owner} sync");
        registry.register("endpointslices_changed_per_sync", help, metrics.changed_per_sync.clone());
        metrics
    }

    /// Counts a finished sync.
    pub fn synced(&self, outcome: &Result<(), SyncError>, duration: Duration) {
        self.sync_duration.observe(duration.as_secs_f64());
        let result = match outcome {
            Ok(()) => "success",
            Err(SyncError::StaleCache) => "stale",
            Err(_) => "error",
        };
        self.syncs.get_or_create(&ResultLabel { result }).inc();
    }

    /// Counts the writes of a plan, and its changes: one observation for each address type that is complete, and one
    /// for the address type that the end of the budget cut off.
    pub fn applied(&self, labels: &HintLabels, plan: &SlicePlan, applied: &Applied) {
        self.written(applied);
        let changed = self.changed_per_sync.get_or_create(labels);
        let complete = plan.types.iter().filter(|plan| applied.complete.contains(&plan.address_type));
        complete.for_each(|plan| changed.observe(as_f64(plan.changes())));
        applied.cut_after.iter().for_each(|changes| changed.observe(as_f64(*changes)));
    }

    /// Counts writes.
    pub fn written(&self, Applied { created, updated, deleted, .. }: &Applied) {
        for (operation, count) in [("create", *created), ("update", *updated), ("delete", *deleted)] {
            if count > 0 {
                let count = u64::try_from(count).unwrap_or(u64::MAX);
                self.changes.get_or_create(&OperationLabel { operation }).inc_by(count);
            }
        }
    }

    /// Counts the addresses that a sync skipped.
    pub fn skipped(&self, addresses: usize) {
        self.addresses_skipped.observe(as_f64(addresses));
    }

    /// Counts the endpoints that plans add, update and remove: one observation of the sums over these plans.
    pub fn planned<'a>(&self, plans: impl IntoIterator<Item = &'a AddressTypePlan>) {
        let (mut added, mut updated, mut removed) = (0, 0, 0);
        for AddressTypePlan { statistics, .. } in plans {
            added += statistics.endpoints_added;
            updated += statistics.endpoints_updated;
            removed += statistics.endpoints_removed;
        }
        self.endpoints_added.observe(as_f64(added));
        self.endpoints_updated.observe(as_f64(updated));
        self.endpoints_removed.observe(as_f64(removed));
    }

    /// Sets the contribution of this owner to the gauges; `None` if the owner was deleted.
    pub fn replace(&self, key: &ObjectKey, new: Option<OwnerTotals>) {
        let mut totals = self.totals.lock();
        if totals.owners.get(key).copied() == new {
            return;
        }
        let old = match new {
            Some(new) => totals.owners.insert(key.clone(), new),
            None => totals.owners.remove(key),
        };
        totals.sum -= old.unwrap_or_default();
        totals.sum += new.unwrap_or_default();
        self.endpoints_desired.set(totals.sum.endpoints);
        self.num_slices.set(totals.sum.slices);
        self.desired_slices.set(totals.sum.desired_slices);
    }
}

/// Converts a count for a histogram.
#[allow(clippy::cast_precision_loss)] // counts of endpoints and of changes stay far below 2^52
fn as_f64(count: usize) -> f64 {
    count as f64
}

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
