//! The sync of one Service: read the cache, plan, apply, record.

use std::sync::Arc;
use std::time::Instant;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::State;
use endpoint_informers::controller::Controller as _;
use endpoint_informers::events::report_refused_addresses;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::{
    ManagedSlices, Snapshot, StaleCache, SyncError, UnsortedSnapshot, decode_all, is_retryable,
};
use endpointslice::desired::{Conditions, Skipped};
use endpointslice::model::ServiceType;
use endpointslice::plan::AddressTypePlan;
use endpointslice::topology::TopologyEvent;
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{Hints, Packing, PlanOptions, SlicePlan, SliceTemplate, desired_from_service, plan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use tracing::debug;

use crate::controller::EndpointSliceController;

/// The state of a Service.
enum Found {
    /// It was deleted.
    Deleted,
    /// It has no selector, or is of type `ExternalName`.
    NotServed,
    /// It belongs to another controller; these are the slices that we have left.
    Delegated(Vec<Arc<CachedSlice>>),
    /// We publish its endpoints.
    Service(UnsortedSnapshot),
}

/// The result of planning.
struct Planned {
    plan: SlicePlan,
    skipped: Vec<Skipped>,
    events: Vec<TopologyEvent>,
    trigger_time: Option<String>,
    /// The last sync ended before this plan was complete; its metrics were counted then.
    continues: bool,
}

impl EndpointSliceController {
    /// Syncs one Service, and records the outcome.
    pub(crate) async fn sync_service(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let _sync = self.slices.expectations.begin_sync(key);
        let start = Instant::now();
        let result = self.try_sync(key).await;
        self.metrics.synced(&result, start.elapsed());
        if matches!(result, Ok(()) | Err(SyncError::Skipped(_))) {
            self.slices.sync_succeeded(key);
        }
        result
    }

    async fn try_sync(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let snapshot = match self.find(key)? {
            Found::Deleted | Found::NotServed => return Ok(()),
            Found::Delegated(slices) => return self.delete_slices(key, &slices).await,
            Found::Service(snapshot) => snapshot.sorted(),
        };
        let existing = snapshot.existing()?;
        let Planned { plan, skipped, events, trigger_time, continues } = self.plan(&snapshot, &existing);
        drop(existing);
        self.metrics.planned(key, &snapshot.service, &plan, continues);
        let applied = self.slices.apply(key, &plan).await;
        if applied.unfinished {
            self.unfinished.lock().insert(key.clone(), trigger_time);
        }
        self.metrics.applied(&snapshot.service, &plan, &applied);
        debug!(controller = Self::NAME, key = %key, changes = plan.types.iter().map(AddressTypePlan::changes).sum::<usize>(), unfinished = applied.unfinished, "Synced");
        let outcome = applied.into_result().and_then(|()| SyncError::unless_complete(&skipped));
        if let Err(error) = &outcome {
            self.report_failure(&snapshot.service, error);
        }
        self.metrics.skipped(skipped.iter().filter(|skipped| !is_retryable(skipped)).count());
        report_refused_addresses(&self.slices.recorder, &snapshot.service, &skipped, "EndpointSlices");
        self.report_hints(&snapshot.service, events);
        outcome
    }

    /// Reads the cache for a sync.
    fn find(&self, key: &ObjectKey) -> Result<Found, SyncError> {
        self.slices.cache.read(|state| {
            let found = look(key, state, || self.slices.expectations.read_or_wait(key, state))?;
            match &found {
                Found::Deleted => {
                    self.forget(key);
                    self.slices.expectations.release(key);
                }
                Found::NotServed => drop(self.unfinished.lock().remove(key)),
                Found::Delegated(_) | Found::Service(_) => {}
            }
            Ok(found)
        })
    }

    /// Deletes our slices of a delegated Service.
    async fn delete_slices(&self, key: &ObjectKey, slices: &[Arc<CachedSlice>]) -> Result<(), SyncError> {
        self.forget(key);
        let plan = SlicePlan::delete_all(decode_all(slices)?);
        let applied = self.slices.apply(key, &plan).await;
        self.metrics.written(applied.written);
        debug!(controller = Self::NAME, key = %key, slices = slices.len(), "Deleted slices of a delegated Service");
        applied.into_result()
    }

    /// True if a sync of this key would write. Changes nothing.
    pub(crate) fn is_out_of_sync(&self, key: &ObjectKey) -> bool {
        match self.slices.cache.read(|state| look(key, state, || self.slices.expectations.read(key, state))) {
            Ok(Found::Service(snapshot)) => {
                let snapshot = snapshot.sorted();
                let existing = snapshot.existing();
                existing.is_ok_and(|existing| !self.writes(&snapshot, &existing, None).0.is_empty())
            }
            Ok(Found::Delegated(slices)) => !slices.is_empty(),
            Ok(Found::Deleted | Found::NotServed) | Err(_) => false,
        }
    }

    fn plan(&self, snapshot: &Snapshot, existing: &[EndpointSlice]) -> Planned {
        let service = &snapshot.service;
        let trigger_time = self.trigger_times.lock().compute(service, snapshot.pods());
        let unfinished = self.unfinished.lock().remove(&service.key());
        let continues = unfinished.is_some();
        // All slices of one plan carry its trigger time, also those that a later sync writes.
        let trigger_time = unfinished.flatten().into_iter().chain(trigger_time).min();
        let (plan, skipped, hints) = self.writes(snapshot, existing, trigger_time.clone());
        let events = self.record_hints(service, &hints, &plan);
        Planned { plan, skipped, events, trigger_time, continues }
    }

    /// Plans the writes for a Service. Also returns the endpoints that are left out, and the rule for hints.
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

    /// Forgets a Service that is not ours, except the expectations of its slices, which may still have to be deleted.
    fn forget(&self, key: &ObjectKey) {
        self.trigger_times.lock().forget(&key.namespace, &key.name);
        self.topology.lock().forget(&key.namespace, &key.name);
        self.unfinished.lock().remove(key);
        self.metrics.forget(key);
    }
}

/// Reads a Service, and its slices by `read`.
///
/// A Service that was deleted leaves its slices to the garbage collector; one without a selector, or of type
/// `ExternalName`, keeps its slices (`endpointslice_controller.go` `syncService`). One that was delegated to another
/// controller still exists, so that only we remove our slices (KEP-4770).
fn look(
    key: &ObjectKey,
    state: &State,
    read: impl FnOnce() -> Result<ManagedSlices, StaleCache>,
) -> Result<Found, StaleCache> {
    if state.is_delegated(key) {
        return Ok(Found::Delegated(read()?.current));
    }
    let Some(service) = state.services.get(&key.namespace, &key.name) else { return Ok(Found::Deleted) };
    if service.selector.is_none() || service.service_type == ServiceType::ExternalName {
        return Ok(Found::NotServed);
    }
    Ok(Found::Service(Snapshot::of(service, read()?.current, state)))
}
