//! The sync of one Service: read the cache, plan, apply, record.

use std::sync::Arc;
use std::time::Instant;

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use endpoint_controllers_common::{is_delegated, report_refused_addresses};
use endpoint_informers::cache::State;
use endpoint_informers::controller::Controller as _;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::pending::PendingWrite;
use endpoint_informers::slices::{StaleCache, SyncError, decode_all};
use endpointslice::coalescing::Rules;
use endpointslice::desired::Skipped;
use endpointslice::plan::AddressTypePlan;
use endpointslice::{Hints, Packing, PlanOptions, Service, SlicePlan, Urgency};
use tracing::debug;

use crate::controller::{EndpointSliceController, Unfinished};
use crate::deferral::Deferral;
use crate::lookup::Lookup;
use crate::planner::{Planner, SyncInput};
use crate::sync_cache::SyncCache;

/// A plan, and what is recorded about it.
struct Planned {
    service: Arc<Service>,
    plan: SlicePlan,
    urgency: Urgency,
    skipped: Vec<Skipped>,
    hints: Hints,
    trigger_time: Option<String>,
    /// The last sync ended before this plan was complete; its metrics were counted then.
    continues: bool,
    /// The changes that wait, if any may.
    deferral: Option<Deferral>,
}

impl EndpointSliceController {
    /// Syncs one Service, and records the outcome.
    pub(crate) async fn sync_service(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        let _running = self.slices.expectations.begin_sync(key);
        let start = Instant::now();
        let result = self.try_sync(sync, key).await;
        if sync.waits() && result.is_ok() {
            // It has not written yet.
            return result;
        }
        self.metrics.common.synced(&result, start.elapsed());
        self.slices.sync_ended(key, &result);
        result
    }

    async fn try_sync(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        let planned = match self.read(key)? {
            Lookup::Deleted | Lookup::NotServed => return Ok(()),
            Lookup::Delegated(slices) => return self.delete_slices(sync, key, &slices).await,
            Lookup::Served(input) => self.plan(key, input)?,
        };
        let Planned { service, plan, urgency, skipped, hints, trigger_time, continues, deferral } = planned;
        let applied = self.slices.apply(sync, key, &plan, urgency).await;
        if let Some(deferral) = deferral {
            let (deferred, expired) = deferral.counts();
            // A plan that waits is made again at its turn, and counts then what has expired.
            self.metrics.deferred((deferred, if applied.waits { 0 } else { expired }));
            self.finish_deferral(key, deferral, applied.is_complete());
        }
        if applied.unfinished || applied.waits {
            let is_counted = continues || !applied.waits;
            self.unfinished.lock().insert(key.clone(), Unfinished { trigger_time, is_counted });
        }
        let message = if applied.waits { "Waits for the rate limit of its writes" } else { "Synced" };
        debug!(controller = Self::NAME, key = %key, changes = plan.types.iter().map(AddressTypePlan::changes).sum::<usize>(), unfinished = applied.unfinished, "{message}");
        if applied.waits {
            // It is synced again when its turn comes, and records and reports the plan of then.
            return Ok(());
        }
        self.metrics.planned(key, &service, &plan, continues);
        self.metrics.applied(&service, &plan, &applied);
        let events = self.record_hints(&service, &hints, &plan);
        let outcome = applied.into_result().and_then(|()| SyncError::unless_complete(&skipped));
        if let Err(error) = &outcome {
            self.report_failure(&service, error);
        }
        self.metrics.common.skipped(skipped.iter().filter(|skipped| !skipped.is_retryable()).count());
        report_refused_addresses(&self.slices.recorder, &service, &skipped, "EndpointSlices");
        self.report_hints(&service, events);
        outcome
    }

    /// Reads the cache for a sync. A sync cache that is of no use is dropped when the cache is unlocked again, because that
    /// takes long for many pods.
    fn read(&self, key: &ObjectKey) -> Result<Lookup, SyncError> {
        let mut sync_cache = self.sync_caches.take(key);
        let lookup = self.slices.cache.read(|state| {
            let read = || self.slices.expectations.read_or_wait(key, state);
            let lookup = self.lookup(key, state, read, &mut sync_cache)?;
            if matches!(lookup, Lookup::Deleted) {
                self.slices.expectations.release(key);
            }
            Ok(lookup)
        });
        if lookup.as_ref().is_ok_and(|lookup| !matches!(lookup, Lookup::Delegated(_))) {
            self.doubtful.remove(key);
        }
        match &lookup {
            Ok(Lookup::Deleted) => self.forget(key),
            Ok(Lookup::NotServed) => {
                self.slices.expectations.abandon_plan(key);
                self.unfinished.lock().remove(key);
                if let Some(deferrals) = &self.deferrals {
                    deferrals.forget(key);
                }
            }
            Ok(Lookup::Delegated(_) | Lookup::Served(_)) => {}
            Err(StaleCache) => self.remember(key, sync_cache),
        }
        Ok(lookup?)
    }

    fn remember(&self, key: &ObjectKey, sync_cache: Option<SyncCache>) {
        if let Some(sync_cache) = sync_cache {
            self.sync_caches.keep(key, sync_cache.seen().len(), sync_cache);
        }
    }

    /// Deletes our slices of a delegated Service, unless the cache is behind since the start.
    async fn delete_slices(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        slices: &[Arc<CachedSlice>],
    ) -> Result<(), SyncError> {
        if self.doubtful.ask(sync, &self.slices, key, |service| !is_delegated(service)).await? {
            return Ok(());
        }
        self.forget(key);
        let plan = SlicePlan::delete_all(decode_all(slices)?);
        let applied = self.slices.apply(sync, key, &plan, Urgency::Soft).await;
        self.metrics.common.written(&applied);
        if !applied.waits {
            debug!(controller = Self::NAME, key = %key, slices = applied.deleted, "Deleted slices of a delegated Service");
        }
        applied.into_result()
    }

    /// The writes that a sync of this key would make, if that is known. Changes nothing.
    pub(crate) fn pending(&self, key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        let read =
            |state: &State| self.lookup(key, state, || self.slices.expectations.read(key, state), &mut None);
        let (plan, existing) = match self.slices.cache.read(read).ok()? {
            Lookup::Deleted | Lookup::NotServed => return Some(Vec::new()),
            Lookup::Delegated(slices) => (SlicePlan::delete_all(decode_all(&slices).ok()?), Vec::new()),
            Lookup::Served(input) => {
                let mut planner = self.prepare(input).ok()?;
                let (plan, _) = planner.plan(None).ok()?;
                // Most Services are in sync: their slices need not be decoded.
                let existing = if plan.is_empty() { Vec::new() } else { planner.into_existing().ok()? };
                (plan, existing)
            }
        };
        Some(self.slices.pending(key, plan, &existing))
    }

    fn prepare(&self, input: SyncInput) -> Result<Planner, SyncError> {
        let options = PlanOptions {
            packing: Packing::Pack { max: self.config.max_endpoints_per_slice },
            placeholder: true,
            hints: Hints::for_service(input.service(), &self.topology.lock()),
        };
        input.prepare(options, self.config.conditions)
    }

    /// Plans the writes of a sync, and remembers what it has seen.
    fn plan(&self, key: &ObjectKey, input: SyncInput) -> Result<Planned, SyncError> {
        let mut planner = self.prepare(input)?;
        let trigger_time = planner.trigger_time(&mut self.trigger_times.lock());
        let (trigger_time, continues) = self.resume(key, trigger_time);
        let (mut plan, skipped) = planner.plan(trigger_time.clone())?;
        let service = Arc::clone(planner.service());
        let hints = planner.options().hints.clone();
        let updates = plan.types.iter().any(|plan| !plan.update.is_empty());
        let deferral = self.defer(key, &planner, &mut plan, &skipped, trigger_time.as_deref());
        let urgency = planner.urgency(&mut plan);
        self.remember(key, planner.into_sync_cache(updates));
        Ok(Planned { service, plan, urgency, skipped, hints, trigger_time, continues, deferral })
    }

    /// Takes the writes out of a plan that may wait.
    fn defer(
        &self,
        key: &ObjectKey,
        planner: &Planner,
        plan: &mut SlicePlan,
        skipped: &[Skipped],
        trigger_time: Option<&str>,
    ) -> Option<Deferral> {
        let rules = Rules::of(planner.service(), &planner.options().hints);
        // An endpoint that is left out is retried, and may change any slice.
        let rules = if skipped.is_empty() { rules } else { rules.urgent() };
        let writes = |plan: &SlicePlan| planner.planned_writes(plan, rules);
        Some(self.deferrals.as_ref()?.hold_back(key, plan, rules, trigger_time, writes))
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
    fn resume(&self, key: &ObjectKey, trigger_time: Option<String>) -> (Option<String>, bool) {
        let unfinished = self.unfinished.lock().remove(key);
        let continues = unfinished.as_ref().is_some_and(|unfinished| unfinished.is_counted);
        let earlier = unfinished.and_then(|unfinished| unfinished.trigger_time);
        (earlier.into_iter().chain(trigger_time).min(), continues)
    }

    /// Forgets a Service that is not ours, except the expectations of its slices, which may still have to be deleted.
    fn forget(&self, key: &ObjectKey) {
        self.trigger_times.lock().forget(&key.namespace, &key.name);
        self.topology.lock().forget(&key.namespace, &key.name);
        self.unfinished.lock().remove(key);
        if let Some(deferrals) = &self.deferrals {
            deferrals.forget(key);
        }
        drop(self.sync_caches.take(key));
        self.metrics.forget(key);
    }
}
