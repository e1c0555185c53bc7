//! The sync of one Service: read the cache, plan, apply, record.

use std::sync::Arc;
use std::time::Instant;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::State;
use endpoint_informers::controller::Controller as _;
use endpoint_informers::events::report_refused_addresses;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::pending::PendingWrite;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::seen_pods::PodChanges;
use endpoint_informers::slices::{
    ManagedSlices, Snapshot, StaleCache, SyncError, UnsortedSnapshot, decode_all, is_retryable,
};
use endpointslice::coalescing::{PlannedWrite, Rules, planned_writes};
use endpointslice::desired::{Conditions, Skipped};
use endpointslice::plan::AddressTypePlan;
use endpointslice::topology::TopologyEvent;
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{Hints, Node, Packing, PlanOptions, Service, SlicePlan, SliceTemplate};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use tracing::debug;

use crate::controller::EndpointSliceController;
use crate::deferral::Deferral;
use crate::memory::{Changed, Memory};
use crate::planning::{ServicePlanOptions, is_served, plan_service};

/// The state of a Service.
enum Found {
    /// It was deleted.
    Deleted,
    /// It has no selector, or is of type `ExternalName`.
    NotServed,
    /// It belongs to another controller; these are the slices that we have left.
    Delegated(Vec<Arc<CachedSlice>>),
    /// We publish its endpoints, and only changes need be looked at.
    Changes(Box<Reading>),
    /// We publish its endpoints, and all of them must be looked at.
    Service(UnsortedSnapshot),
}

/// A Service, its slices, and the pods that have changed since the last sync that is remembered.
struct Reading {
    memory: Memory,
    /// True if the memory is of the last sync, false if it is new.
    is_known: bool,
    changes: PodChanges,
    /// The nodes of these pods.
    nodes: Vec<Arc<Node>>,
    slices: Vec<Arc<CachedSlice>>,
}

/// The result of planning.
struct Planned {
    service: Arc<Service>,
    plan: SlicePlan,
    skipped: Vec<Skipped>,
    events: Vec<TopologyEvent>,
    trigger_time: Option<String>,
    /// The last sync ended before this plan was complete; its metrics were counted then.
    continues: bool,
    /// The changes that wait, if any may.
    deferral: Option<Deferral>,
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
        let planned = match self.find(key)? {
            Found::Deleted | Found::NotServed => return Ok(()),
            Found::Delegated(slices) => return self.delete_slices(key, &slices).await,
            Found::Changes(reading) => self.plan_changes(key, *reading)?,
            Found::Service(snapshot) => {
                let snapshot = snapshot.sorted();
                let existing = snapshot.existing()?;
                self.plan(&snapshot, &existing)
            }
        };
        let Planned { service, plan, skipped, events, trigger_time, continues, deferral } = planned;
        self.metrics.planned(key, &service, &plan, continues);
        let applied = self.slices.apply(key, &plan).await;
        if let Some(deferral) = deferral {
            self.metrics.deferred(deferral.counts());
            self.finish_deferral(key, deferral, applied.errors.is_empty() && !applied.unfinished);
        }
        if applied.unfinished {
            self.unfinished.lock().insert(key.clone(), trigger_time);
        }
        self.metrics.applied(&service, &plan, &applied);
        debug!(controller = Self::NAME, key = %key, changes = plan.types.iter().map(AddressTypePlan::changes).sum::<usize>(), unfinished = applied.unfinished, "Synced");
        let outcome = applied.into_result().and_then(|()| SyncError::unless_complete(&skipped));
        if let Err(error) = &outcome {
            self.report_failure(&service, error);
        }
        self.metrics.skipped(skipped.iter().filter(|skipped| !is_retryable(skipped)).count());
        report_refused_addresses(&self.slices.recorder, &service, &skipped, "EndpointSlices");
        self.report_hints(&service, events);
        outcome
    }

    /// Reads the cache for a sync. A memory that is of no use is dropped when the cache is unlocked again, because that
    /// takes long for many pods.
    fn find(&self, key: &ObjectKey) -> Result<Found, SyncError> {
        let mut memory = self.memories.take(key);
        let found = self.slices.cache.read(|state| {
            let read = || self.slices.expectations.read_or_wait(key, state);
            let found = self.look(key, state, read, &mut memory)?;
            if matches!(found, Found::Deleted) {
                self.slices.expectations.release(key);
            }
            Ok(found)
        });
        match &found {
            Ok(Found::Deleted) => self.forget(key),
            Ok(Found::NotServed) => {
                self.unfinished.lock().remove(key);
                self.deferrals.iter().for_each(|deferrals| deferrals.forget(key));
            }
            Ok(Found::Delegated(_) | Found::Changes(_) | Found::Service(_)) => {}
            Err(StaleCache) => {
                if let Some(memory) = memory {
                    self.remember(key, memory);
                }
            }
        }
        Ok(found?)
    }

    fn remember(&self, key: &ObjectKey, memory: Memory) {
        self.memories.keep(key, memory.seen().len(), memory);
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
        let found = self
            .slices
            .cache
            .read(|state| self.look(key, state, || self.slices.expectations.read(key, state), &mut None));
        match found {
            Ok(Found::Changes(reading)) => self.plan_reading(*reading).is_ok_and(|plan| !plan.is_empty()),
            Ok(Found::Service(snapshot)) => {
                let snapshot = snapshot.sorted();
                let existing = snapshot.existing();
                existing.is_ok_and(|existing| !self.writes(&snapshot, &existing, None).0.is_empty())
            }
            Ok(Found::Delegated(slices)) => !slices.is_empty(),
            Ok(Found::Deleted | Found::NotServed) | Err(_) => false,
        }
    }

    /// The writes of a sync, by a memory that is dropped.
    fn plan_reading(&self, reading: Reading) -> Result<SlicePlan, SyncError> {
        let Reading { mut memory, changes, nodes, slices, .. } = reading;
        memory.update(changes, &nodes);
        let template = SliceTemplate::for_service(memory.service(), ENDPOINTSLICE_CONTROLLER);
        let options = self.options(memory.service());
        let mut open = memory.settle(&slices, &template, &options)?;
        Ok(memory.plan(&mut open, &template, &options)?.0)
    }

    /// The writes that a sync of this key would make, if that is known. Changes nothing.
    pub(crate) fn pending(&self, key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        let read =
            |state: &State| self.look(key, state, || self.slices.expectations.read(key, state), &mut None);
        match self.slices.cache.read(read).ok()? {
            Found::Deleted | Found::NotServed => Some(Vec::new()),
            Found::Delegated(slices) => {
                Some(self.slices.pending(key, SlicePlan::delete_all(decode_all(&slices).ok()?), &[]))
            }
            Found::Changes(reading) => {
                let slices = reading.slices.clone();
                let plan = self.plan_reading(*reading).ok()?;
                // Most Services are in sync.
                if plan.is_empty() {
                    return Some(Vec::new());
                }
                Some(self.slices.pending(key, plan, &decode_all(&slices).ok()?))
            }
            Found::Service(snapshot) => {
                let snapshot = snapshot.sorted();
                let existing = snapshot.existing().ok()?;
                let (plan, ..) = self.writes(&snapshot, &existing, None);
                Some(self.slices.pending(key, plan, &existing))
            }
        }
    }

    /// Plans by the changes since the last sync ([`memory`](crate::memory)), and remembers this one.
    fn plan_changes(&self, key: &ObjectKey, reading: Reading) -> Result<Planned, SyncError> {
        let Reading { mut memory, is_known, changes, nodes, slices } = reading;
        let Changed { gone, new } = memory.update(changes, &nodes);
        let service = Arc::clone(memory.service());
        let template = SliceTemplate::for_service(&service, ENDPOINTSLICE_CONTROLLER);
        let options = self.options(&service);
        let mut open = memory.settle(&slices, &template, &options)?;
        let trigger_time = {
            let mut times = self.trigger_times.lock();
            let (gone, new) = (gone.iter().map(|pod| &**pod), new.iter().map(|pod| &**pod));
            let advanced = if is_known { times.advance(&service, gone, new) } else { None };
            advanced.unwrap_or_else(|| times.compute(&service, memory.pods()))
        };
        let (trigger_time, continues) = self.continued(key, trigger_time);
        let template = template.with_trigger_time(trigger_time.clone());
        let (plan, skipped) = memory.plan(&mut open, &template, &options)?;
        let events = self.record_hints(&service, &options.hints, &plan);
        // Services that are in sync, or without slices, are many at a start, and few of them change soon.
        let remembers = is_known || plan.types.iter().any(|plan| !plan.update.is_empty());
        let mut planned = Planned { service, plan, skipped, events, trigger_time, continues, deferral: None };
        self.hold_back(key, &mut planned, &options.hints, |plan, rules| {
            let is_ready_elsewhere = |address_type, ports: &_| memory.has_ready(address_type, ports);
            planned_writes(plan, &open, rules, is_ready_elsewhere, memory.pods())
        });
        if remembers {
            self.remember(key, memory);
        }
        Ok(planned)
    }

    /// Takes the writes out of a plan that may wait, which `writes` finds.
    fn hold_back(
        &self,
        key: &ObjectKey,
        planned: &mut Planned,
        hints: &Hints,
        writes: impl FnOnce(&SlicePlan, Rules) -> Vec<PlannedWrite>,
    ) {
        let Some(deferrals) = &self.deferrals else { return };
        let Planned { service, plan, skipped, trigger_time, .. } = planned;
        let rules = Rules::of(service, hints);
        // An endpoint that is left out is retried, and may change any slice.
        let rules = if skipped.is_empty() { rules } else { rules.urgent() };
        let writes = |plan: &SlicePlan| writes(plan, rules);
        planned.deferral = Some(deferrals.hold_back(key, plan, rules, trigger_time.as_deref(), writes));
    }

    /// Records whether the writes that did not wait were made, and queues the Service for those that wait.
    fn finish_deferral(&self, key: &ObjectKey, deferral: Deferral, complete: bool) {
        let delay = self.deferrals.as_ref().and_then(|deferrals| deferrals.finish(key, deferral, complete));
        if let Some(delay) = delay {
            self.slices.queue.postpone(key.clone(), delay);
        }
    }

    /// The trigger time of a plan, and whether it continues that of the last sync: all slices of one plan carry its
    /// trigger time, also those that a later sync writes.
    fn continued(&self, key: &ObjectKey, trigger_time: Option<String>) -> (Option<String>, bool) {
        let unfinished = self.unfinished.lock().remove(key);
        let continues = unfinished.is_some();
        (unfinished.flatten().into_iter().chain(trigger_time).min(), continues)
    }

    fn options(&self, service: &Service) -> PlanOptions {
        PlanOptions {
            packing: Packing::Pack { max: self.config.max_endpoints_per_slice },
            placeholder: true,
            hints: Hints::for_service(service, &self.topology.lock()),
        }
    }

    fn plan(&self, snapshot: &Snapshot, existing: &[EndpointSlice]) -> Planned {
        let service = &snapshot.service;
        let trigger_time = self.trigger_times.lock().compute(service, snapshot.pods());
        let (trigger_time, continues) = self.continued(&service.key(), trigger_time);
        let (plan, skipped, hints) = self.writes(snapshot, existing, trigger_time.clone());
        let events = self.record_hints(service, &hints, &plan);
        let (service, key) = (Arc::clone(service), service.key());
        let mut planned = Planned { service, plan, skipped, events, trigger_time, continues, deferral: None };
        self.hold_back(&key, &mut planned, &hints, |plan, rules| {
            planned_writes(plan, existing, rules, |_, _| false, snapshot.pods())
        });
        planned
    }

    /// Plans the writes for a Service. Also returns the endpoints that are left out, and the rule for hints.
    fn writes(
        &self,
        snapshot: &Snapshot,
        existing: &[EndpointSlice],
        trigger_time: Option<String>,
    ) -> (SlicePlan, Vec<Skipped>, Hints) {
        let service = &snapshot.service;
        let (plan, conditions) = (self.options(service), self.config.conditions);
        let options = ServicePlanOptions { plan, conditions, trigger_time };
        let (plan, skipped) =
            plan_service(service, snapshot.pods(), |name| snapshot.node(name), existing, &options);
        (plan, skipped, options.plan.hints)
    }

    /// Forgets a Service that is not ours, except the expectations of its slices, which may still have to be deleted.
    fn forget(&self, key: &ObjectKey) {
        self.trigger_times.lock().forget(&key.namespace, &key.name);
        self.topology.lock().forget(&key.namespace, &key.name);
        self.unfinished.lock().remove(key);
        self.deferrals.iter().for_each(|deferrals| deferrals.forget(key));
        drop(self.memories.take(key));
        self.metrics.forget(key);
    }

    /// Reads a Service, and its slices by `read`. Takes the memory of the last sync if it is still of use.
    ///
    /// A Service that was deleted leaves its slices to the garbage collector; one without a selector, or of type
    /// `ExternalName`, keeps its slices (`endpointslice_controller.go` `syncService`). One that was delegated to another
    /// controller still exists, so that only we remove our slices (KEP-4770).
    fn look(
        &self,
        key: &ObjectKey,
        state: &State,
        read: impl FnOnce() -> Result<ManagedSlices, StaleCache>,
        remembered: &mut Option<Memory>,
    ) -> Result<Found, StaleCache> {
        if state.is_delegated(key) {
            return Ok(Found::Delegated(read()?.current));
        }
        let Some(service) = state.services.get(&key.namespace, &key.name) else { return Ok(Found::Deleted) };
        let Some(selector) = service.selector.as_ref().filter(|_| is_served(service)) else {
            return Ok(Found::NotServed);
        };
        let slices = read()?.current;
        let zones = state.zone_changes();
        if self.config.conditions != Conditions::All
            || service.wants_topology_hints()
            || state.unreadable_in(&key.namespace).is_some()
        {
            return Ok(Found::Service(Snapshot::of(service, slices, state)));
        }
        let memory = remembered.take_if(|memory| memory.is_current(service, zones));
        let is_known = memory.is_some();
        let memory = memory.unwrap_or_else(|| Memory::new(Arc::clone(service), zones));
        let changes = state.pods_changed(&service.namespace, selector, memory.seen());
        let nodes = state.nodes_of(&changes.new);
        Ok(Found::Changes(Box::new(Reading { memory, is_known, changes, nodes, slices })))
    }
}
