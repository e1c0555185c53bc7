//! The sync of one Endpoints object: read the cache, plan, apply, record.

use std::sync::Arc;
use std::time::Instant;

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use endpoint_controllers_common::{HintLabels, OwnerTotals, has_selector, is_delegated};
use endpoint_informers::cache::State;
use endpoint_informers::controller::Controller as _;
use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::pending::PendingWrite;
use endpoint_informers::slices::{ManagedSlices, StaleCache, SyncError, decode_all};
use endpointslice::plan::AddressTypePlan;
use endpointslice::{SlicePlan, Urgency};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use tracing::debug;

use crate::controller::EndpointSliceMirroringController;
use crate::mirror::{Mirror, is_mirrored, mirror_by_urgency, opts_out};

/// A consistent read of the cache.
struct Snapshot {
    /// The Endpoints, if they are mirrored.
    endpoints: Option<Arc<CachedEndpoints>>,
    /// True if there are some that are not, and only because of their Service.
    lacks_service: bool,
    /// True if their Service may have mirrors.
    is_served: bool,
    /// True if nodes without an endpoint get no traffic of the Service.
    is_local: bool,
    slices: ManagedSlices,
}

impl EndpointSliceMirroringController {
    /// Syncs one Endpoints object, and records the outcome.
    pub(crate) async fn sync_endpoints(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        let _running = self.slices.expectations.begin_sync(key);
        let start = Instant::now();
        let result = self.try_sync(sync, key).await;
        if sync.waits() && result.is_ok() {
            // It has not written yet.
            return result;
        }
        self.metrics.synced(&result, start.elapsed());
        if result.is_ok() {
            self.slices.sync_ended(key, &result);
        }
        result
    }

    async fn try_sync(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        let read = |state: &State| self.slices.expectations.read_or_wait(key, state);
        let Snapshot { endpoints, lacks_service, is_served, is_local, slices } = self.snapshot(key, read)?;
        if !lacks_service {
            self.doubtful.remove(key);
        } else if self.asks_for_service(sync, key).await? {
            return Ok(());
        }
        if let Some(cached) = endpoints {
            let (mirror, urgency) = self.mirror(&cached, &slices, is_local)?;
            drop(slices);
            self.write(sync, key, &cached, mirror, urgency).await
        } else {
            // Consumers read the slices of a Service that nobody else writes.
            let urgency = if is_served { Urgency::Withdrawal } else { Urgency::Soft };
            self.delete_slices(sync, key, decode_all(&slices.current)?, urgency).await
        }
    }

    /// True if the sync is [over](endpoint_controllers_common::DoubtfulServices::ask): the Endpoints have not been mirrored since
    /// the start, because of their Service. If it has no selector, the cache is behind.
    async fn asks_for_service(&self, sync: &SyncContext, key: &ObjectKey) -> Result<bool, SyncError> {
        let may_be_delegated = self.config.services_may_be_delegated;
        let keeps = |service: &Service| !(has_selector(service) || may_be_delegated && is_delegated(service));
        self.doubtful.ask(sync, &self.slices, key, keeps).await
    }

    /// Plans by the decoded objects, which are dropped before the writes.
    fn mirror(
        &self,
        cached: &CachedEndpoints,
        slices: &ManagedSlices,
        is_local: bool,
    ) -> Result<(Mirror, Urgency), SyncError> {
        let (existing, terminating) = (decode_all(&slices.current)?, decode_all(&slices.terminating)?);
        let max = self.config.max_endpoints_per_subset;
        Ok(mirror_by_urgency(&cached.decode()?, &existing, &terminating, max, is_local))
    }

    /// Reads the cache, and slices by `read`. Fails if the Endpoints or the Service could not be decoded: then nothing is
    /// known about mirroring, and nothing is written or deleted.
    fn snapshot(
        &self,
        key: &ObjectKey,
        read: impl FnOnce(&State) -> Result<ManagedSlices, StaleCache>,
    ) -> Result<Snapshot, SyncError> {
        self.slices.cache.read(|state| {
            state.services.check_absent(&key.namespace, &key.name)?;
            state.endpoints.check_absent(&key.namespace, &key.name)?;
            let slices = read(state)?;
            let service = state.services.get(&key.namespace, &key.name).map(|service| &**service);
            let stored = state.endpoints.get(&key.namespace, &key.name);
            let endpoints = stored.filter(|endpoints| is_mirrored(endpoints, service)).cloned();
            let lacks_service = endpoints.is_none() && stored.is_some_and(|stored| !opts_out(stored));
            let is_served = service.is_some_and(|service| service.selector.is_none());
            let is_local = service.is_some_and(|service| service.has_local_policy);
            Ok(Snapshot { endpoints, lacks_service, is_served, is_local, slices })
        })
    }

    async fn write(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        cached: &CachedEndpoints,
        mirror: Mirror,
        urgency: Urgency,
    ) -> Result<(), SyncError> {
        let max = self.config.max_endpoints_per_subset;
        let plan = &mirror.plan;
        self.metrics.replace(key, Some(OwnerTotals::of(plan, max)));
        let applied = self.slices.apply(sync, key, plan, urgency).await;
        if applied.waits {
            return Ok(());
        }
        if !self.unfinished.lock().remove(key) {
            self.metrics.planned(&plan.types);
            self.metrics.skipped(mirror.skipped);
        }
        if applied.unfinished {
            self.unfinished.lock().insert(key.clone());
        } else {
            // The Endpoints may have changed since the plan was begun.
            self.report_skipped(key, cached, &mirror);
        }
        self.metrics.applied(&HintLabels::default(), plan, &applied);
        applied.into_result()?;
        debug!(controller = Self::NAME, key = %key, changes = plan.types.iter().map(AddressTypePlan::changes).sum::<usize>(), "Mirrored");
        Ok(())
    }

    /// Deletes the slices of Endpoints that are no longer mirrored. These deletions are not counted as changes, as upstream
    /// (`endpointslicemirroring/reconciler.go` `deleteEndpoints`).
    async fn delete_slices(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        existing: Vec<EndpointSlice>,
        urgency: Urgency,
    ) -> Result<(), SyncError> {
        self.metrics.replace(key, None);
        self.unfinished.lock().remove(key);
        let plan = SlicePlan::delete_all(existing);
        self.slices.apply(sync, key, &plan, urgency).await.into_result()
    }

    /// The writes that a sync of this key would make, if that is known. Changes nothing.
    pub(crate) fn pending(&self, key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        let read = |state: &State| self.slices.expectations.read(key, state);
        let Snapshot { endpoints, slices, is_local, .. } = self.snapshot(key, read).ok()?;
        let Some(cached) = endpoints else {
            let current = decode_all(&slices.current).ok()?;
            return Some(self.slices.pending(key, SlicePlan::delete_all(current), &[]));
        };
        let plan = self.mirror(&cached, &slices, is_local).ok()?.0.plan;
        // Most Services are in sync: their slices need not be decoded.
        let stored =
            if plan.is_empty() { Vec::new() } else { [&slices.current[..], &slices.terminating].concat() };
        Some(self.slices.pending(key, plan, &decode_all(&stored).ok()?))
    }
}
