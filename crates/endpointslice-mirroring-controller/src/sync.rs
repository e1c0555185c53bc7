//! One Endpoints object: from a consistent read of the cache to its writes.

use std::sync::Arc;
use std::time::Instant;

use endpoint_informers::cache::{CachedEndpoints, ObjectKey};
use endpoint_informers::controller::Controller as _;
use endpoint_informers::own_slices::{Found, decode_all};
use endpoint_informers::slice_metrics::{HintLabels, OwnerTotals};
use endpoint_informers::slice_sync::SyncError;
use endpoint_informers::slice_writer::{Applied, Written};
use endpointslice::SlicePlan;
use endpointslice::plan::AddressTypePlan;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use tracing::debug;

use crate::controller::EndpointSliceMirroringController;
use crate::mirror::{Mirror, is_mirrored, mirror_beside};

/// What one sync looks at: everything of the same moment.
struct Snapshot {
    /// The Endpoints, if they are to be mirrored.
    endpoints: Option<Arc<CachedEndpoints>>,
    slices: Found,
}

impl EndpointSliceMirroringController {
    /// Makes the slices of one Endpoints object as they should be.
    pub(crate) async fn sync_endpoints(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let under_sync = self.slices.begin_sync(key);
        let start = Instant::now();
        let result = self.try_sync(key).await;
        self.metrics.synced(&result, start.elapsed());
        if result.is_ok() {
            self.slices.settled(key, &self.cache, &self.recorder);
        }
        // Only then the events that came meanwhile are judged.
        drop(under_sync);
        self.slices.go_on(key);
        result
    }

    async fn try_sync(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let Snapshot { endpoints, slices } = self.snapshot(key)?;
        let existing = decode_all(&slices.staying)?;
        match endpoints {
            Some(cached) => {
                let (endpoints, leaving) = (cached.decode()?, decode_all(&slices.leaving)?);
                let max = self.config.max_endpoints_per_subset;
                let mirror = mirror_beside(&endpoints, &existing, &leaving, max);
                self.write(key, &cached, mirror).await
            }
            None => self.clean_up(key, existing).await,
        }
    }

    /// Reads the cache. Endpoints or a Service that could not be read may say either: nothing is mirrored and nothing
    /// cleaned up.
    fn snapshot(&self, key: &ObjectKey) -> Result<Snapshot, SyncError> {
        self.cache.read(|state| {
            state.services.check_absent(&key.namespace, &key.name)?;
            state.endpoints.check_absent(&key.namespace, &key.name)?;
            let slices = self.slices.read_all(key, state)?;
            let service = state.services.get(&key.namespace, &key.name).map(|service| &**service);
            let endpoints = state.endpoints.get(&key.namespace, &key.name);
            let endpoints = endpoints.filter(|endpoints| is_mirrored(endpoints, service)).cloned();
            Ok(Snapshot { endpoints, slices })
        })
    }

    async fn write(
        &self,
        key: &ObjectKey,
        cached: &CachedEndpoints,
        mirror: Mirror,
    ) -> Result<(), SyncError> {
        let max = self.config.max_endpoints_per_subset;
        let plan = &mirror.plan;
        self.metrics.skipped(mirror.skipped);
        if !self.unfinished.lock().remove(key) {
            self.metrics.planned(&plan.types);
        }
        self.metrics.replace(key, Some(OwnerTotals::of(plan, max)));
        self.report_skipped(key, cached, &mirror);
        let applied = self.apply(key, plan, |written| self.metrics.written(written)).await;
        if applied.unfinished {
            self.unfinished.lock().insert(key.clone());
        }
        let complete = plan.types.iter().filter(|plan| !applied.incomplete.contains(&plan.address_type));
        let distribution = HintLabels::default();
        self.metrics.applied(&distribution, complete);
        if let Some(changes) = applied.cut_after {
            self.metrics.changed(&distribution, changes);
        }
        applied.into_result()?;
        debug!(controller = Self::NAME, key = %key, changes = plan.types.iter().map(AddressTypePlan::changes).sum::<usize>(), "Mirrored");
        Ok(())
    }

    /// Deletes what was mirrored while it should have been. These deletions are not in the count of changes, as upstream
    /// doesn't count them (`endpointslicemirroring/reconciler.go` `deleteEndpoints`).
    async fn clean_up(&self, key: &ObjectKey, existing: Vec<EndpointSlice>) -> Result<(), SyncError> {
        self.metrics.replace(key, None);
        self.unfinished.lock().remove(key);
        let plan = SlicePlan::delete_all(existing);
        Ok(self.apply(key, &plan, |_| {}).await.into_result()?)
    }

    /// Makes as many of the writes as one sync may. What is left is done by another, behind all other keys.
    async fn apply(&self, key: &ObjectKey, plan: &SlicePlan, count: impl Fn(&Written<'_>)) -> Applied {
        let mut turn = self.slices.turn(key, plan);
        let applied = self.writer.apply_within(&mut turn, plan, |written| {
            self.slices.written(key, &written);
            count(&written);
        });
        let applied = applied.await;
        self.slices.applied(key, plan, &applied);
        applied
    }

    /// True if a sync of this key would write something. Plans without writing.
    pub(crate) fn is_wrong(&self, key: &ObjectKey) -> bool {
        let Ok(Snapshot { endpoints, slices }) = self.snapshot(key) else { return false };
        let Ok(existing) = decode_all(&slices.staying) else { return false };
        let Some(endpoints) = endpoints else { return !existing.is_empty() };
        let (Ok(endpoints), Ok(leaving)) = (endpoints.decode(), decode_all(&slices.leaving)) else {
            return false;
        };
        let max = self.config.max_endpoints_per_subset;
        !mirror_beside(&endpoints, &existing, &leaving, max).plan.is_empty()
    }
}
