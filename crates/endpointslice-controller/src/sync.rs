//! One Service: from a consistent read of the cache to its writes.

use std::sync::Arc;
use std::time::Instant;

use endpoint_informers::cache::{Cached as _, CachedSlice, ObjectKey};
use endpoint_informers::controller::Controller as _;
use endpoint_informers::own_slices::decode_all;
use endpoint_informers::references;
use endpoint_informers::slice_sync::{Snapshot, SyncError, Unsorted, may_come};
use endpoint_informers::slice_writer::Applied;
use endpointslice::desired::{Conditions, Skipped};
use endpointslice::model::ServiceType;
use endpointslice::topology::TopologyEvent;
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{Hints, Packing, PlanOptions, SlicePlan, SliceTemplate, desired_from_service, plan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use tracing::debug;

use crate::controller::EndpointSliceController;

/// Whose slices a sync is about.
enum Found {
    /// Nobody's: a Service that is gone, or whose endpoints are not ours to publish.
    Nothing,
    /// Another controller's: these slices are all that is left of ours.
    Delegated(Vec<Arc<CachedSlice>>),
    /// Ours.
    Service(Unsorted),
}

/// What a sync is going to do.
struct Planned {
    plan: SlicePlan,
    skipped: Vec<Skipped>,
    events: Vec<TopologyEvent>,
    trigger_time: Option<String>,
    /// The last sync planned this too, and ended before it was through.
    continues: bool,
}

impl EndpointSliceController {
    /// Makes the slices of one Service as they should be.
    pub(crate) async fn sync_service(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let under_sync = self.slices.begin_sync(key);
        let start = Instant::now();
        let result = self.try_sync(key).await;
        self.metrics.synced(&result, start.elapsed());
        if matches!(result, Ok(()) | Err(SyncError::Skipped(_))) {
            self.slices.settled(key, &self.cache, &self.recorder);
        }
        // Only then the events that came meanwhile are judged.
        drop(under_sync);
        self.slices.go_on(key);
        result
    }

    async fn try_sync(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let snapshot = match self.find(key)? {
            Found::Nothing => return Ok(()),
            Found::Delegated(slices) => return self.hand_over(key, &slices).await,
            Found::Service(found) => found.in_order(),
        };
        let existing = snapshot.existing()?;
        let Planned { plan, skipped, events, trigger_time, continues } = self.plan(&snapshot, &existing);
        drop(existing);
        self.metrics.planned(key, &snapshot.service, &plan, continues);
        let applied = self.apply(key, &plan).await;
        if applied.unfinished {
            self.unfinished.lock().insert(key.clone(), trigger_time);
        }
        let complete = plan.types.iter().filter(|plan| !applied.incomplete.contains(&plan.address_type));
        self.metrics.applied(&snapshot.service, complete, applied.cut_after);
        debug!(controller = Self::NAME, key = %key, changes = plan.types.iter().map(endpointslice::plan::AddressTypePlan::changes).sum::<usize>(), unfinished = applied.unfinished, "Synced");
        let applied = applied.into_result();
        let outcome = applied.map_err(SyncError::from).and_then(|()| SyncError::unless_complete(&skipped));
        if let Err(error) = &outcome {
            self.report_failure(&snapshot.service, error);
        }
        self.metrics.skipped(skipped.iter().filter(|skipped| !may_come(skipped)).count());
        references::refused_addresses(&self.recorder, &snapshot.service, &skipped, "EndpointSlices");
        self.report_hints(&snapshot.service, events);
        outcome
    }

    /// Reads the cache.
    ///
    /// A Service that is gone leaves its slices to the garbage collector; one without a selector, or of type
    /// `ExternalName`, keeps what it has (`endpointslice_controller.go` `syncService`). One that was given to another
    /// controller still exists, so nobody but us removes our slices (KEP-4770).
    fn find(&self, key: &ObjectKey) -> Result<Found, SyncError> {
        self.cache.read(|state| {
            if state.is_delegated(key) {
                return Ok(Found::Delegated(self.slices.read(key, state)?));
            }
            let Some(service) = state.services.get(&key.namespace, &key.name) else {
                self.forget(key);
                self.slices.leave(key);
                return Ok(Found::Nothing);
            };
            if service.selector.is_none() || service.service_type == ServiceType::ExternalName {
                self.unfinished.lock().remove(key);
                return Ok(Found::Nothing);
            }
            Ok(Found::Service(Snapshot::of(service, &self.slices, state)?))
        })
    }

    /// Deletes our slices of a Service that belongs to another controller.
    async fn hand_over(&self, key: &ObjectKey, slices: &[Arc<CachedSlice>]) -> Result<(), SyncError> {
        self.forget(key);
        let plan = SlicePlan::delete_all(decode_all(slices)?);
        let applied = self.apply(key, &plan).await;
        debug!(controller = Self::NAME, key = %key, slices = slices.len(), "Left to another controller");
        Ok(applied.into_result()?)
    }

    /// Makes as many of the writes as one sync may. What is left is done by another, behind all other keys.
    async fn apply(&self, key: &ObjectKey, plan: &SlicePlan) -> Applied {
        let mut turn = self.slices.turn(key, plan);
        let applied = self.writer.apply_within(&mut turn, plan, |written| {
            self.slices.written(key, &written);
            self.metrics.written(&written);
        });
        let applied = applied.await;
        self.slices.applied(key, plan, &applied);
        applied
    }

    /// True if a sync of this key would write something. Plans without writing.
    pub(crate) fn is_wrong(&self, key: &ObjectKey) -> bool {
        match self.find(key) {
            Ok(Found::Service(found)) => {
                let snapshot = found.in_order();
                let existing = snapshot.existing();
                existing.is_ok_and(|existing| !self.writes(&snapshot, &existing, None).0.is_empty())
            }
            Ok(Found::Delegated(slices)) => !slices.is_empty(),
            Ok(Found::Nothing) | Err(_) => false,
        }
    }

    fn plan(&self, snapshot: &Snapshot, existing: &[EndpointSlice]) -> Planned {
        let service = &snapshot.service;
        let trigger_time = self.trigger_times.lock().compute(service, snapshot.pods());
        let unfinished = self.unfinished.lock().remove(&service.key());
        let continues = unfinished.is_some();
        // All slices of one plan carry its time, in whichever sync they are written.
        let trigger_time = unfinished.flatten().into_iter().chain(trigger_time).min();
        let (plan, skipped, hints) = self.writes(snapshot, existing, trigger_time.clone());
        let events = self.record_hints(service, &hints, &plan);
        Planned { plan, skipped, events, trigger_time, continues }
    }

    /// The writes that a Service needs, the endpoints that are left out, and the rule for hints.
    fn writes(
        &self,
        snapshot: &Snapshot,
        existing: &[EndpointSlice],
        trigger_time: Option<String>,
    ) -> (SlicePlan, Vec<Skipped>, Hints) {
        let service = &snapshot.service;
        let desired = desired_from_service(service, snapshot.pods(), |name| snapshot.node(name));
        let desired = match self.config.conditions {
            Conditions::All => desired,
            Conditions::ReadyOnly => desired.ready_only(),
        };
        let mut skipped = desired.skipped().to_vec();
        let template =
            SliceTemplate::for_service(service, ENDPOINTSLICE_CONTROLLER).with_trigger_time(trigger_time);
        let options = PlanOptions {
            packing: Packing::Pack { max: self.config.max_endpoints_per_slice },
            placeholder: true,
            hints: Hints::for_service(service, &self.topology.lock()),
        };
        let plan = plan(existing, desired, &template, &options);
        skipped.retain(|skipped| !plan.keeps(skipped));
        (plan, skipped, options.hints)
    }

    /// Forgets a Service that is not ours, but not what was written for it: that may still have to be deleted.
    fn forget(&self, key: &ObjectKey) {
        self.trigger_times.lock().forget(&key.namespace, &key.name);
        self.topology.lock().forget(&key.namespace, &key.name);
        self.unfinished.lock().remove(key);
        self.metrics.forget(key);
    }
}
