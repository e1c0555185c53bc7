//! The sync of one Service: read the cache, plan, apply, record.

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use controller_kit::write::{Verb, WriteError};
use endpoint_informers::cache::Change;
use endpoint_informers::controller::Controller as _;
use endpoint_informers::events::report_refused_addresses;
use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::pending::PendingWrite;
use endpointslice::Urgency;
use endpointslice::model::Uid;
use endpointslice::well_known::{ENDPOINT_CONTROLLER_NAME, LAST_CHANGE_TRIGGER_TIME};
use k8s_openapi::api::core::v1 as core;
use kube_api::time::Instant;
use tracing::debug;

use crate::controller::EndpointsController;
use crate::error::SyncError;
use crate::lookup::Lookup;
use crate::memory::Memory;
use crate::metadata::is_ours;
use crate::plan::Plan;
use crate::planner::SyncInput;
use crate::tracker::Orphan;

/// True if the object may exist after this failed create.
fn may_be_stored(error: &WriteError) -> bool {
    error.verb == Verb::Create && (error.source.is_unavailable() || error.source.is_already_exists())
}

/// True if another controller maintains the Endpoints of this Service, which this one did if they are ours.
fn is_delegated_with_selector(service: &core::Service) -> bool {
    let labels = service.metadata.labels.as_ref();
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    labels.is_some_and(|labels| labels.contains_key(ENDPOINT_CONTROLLER_NAME))
        && selector.is_some_and(|selector| !selector.is_empty())
}

impl EndpointsController {
    /// Syncs one Service, and records the outcome.
    pub(crate) async fn sync_service(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        let handle = |deferred: Vec<Change<CachedEndpoints>>| {
            for change in &deferred {
                self.cache.read(|state| self.handle(change, state));
            }
        };
        self.repairs.begin_sync(key);
        let _running = self.deferred.begin(key, handle);
        let result = match self.read(key)? {
            Lookup::Nothing => Ok(()),
            Lookup::Leftover(endpoints) => self.delete_leftover(sync, key, &endpoints).await,
            Lookup::Unclear(endpoints, orphan) => {
                if self.is_leftover(sync, key, &endpoints, orphan).await? {
                    self.delete_leftover(sync, key, &endpoints).await
                } else {
                    Ok(())
                }
            }
            Lookup::Served(input) => {
                let (plan, urgency) = self.plan(key, input)?;
                self.apply(sync, key, &plan, urgency).await
            }
        };
        match &result {
            Ok(()) if sync.waits() => {}
            Ok(()) => self.repairs.sync_succeeded(key, &self.cache, &self.recorder, "Endpoints"),
            // The cache may be stale, or the write may have been stored although the response was lost.
            Err(error) if error.is_transient() || error.source.is_unavailable() => {
                self.tracker.lock().wait(key);
            }
            Err(_) => {}
        }
        Ok(result?)
    }

    /// Reads the cache for a sync. A memory that is of no use is dropped when the cache is unlocked again, because that
    /// takes long for many pods.
    fn read(&self, key: &ObjectKey) -> Result<Lookup, SyncError> {
        let mut memory = self.memories.take(key);
        let lookup = self.cache.read(|state| {
            let lookup = self.lookup(key, state, &mut memory);
            let exists = state.services.get(&key.namespace, &key.name).is_some();
            if exists || lookup.is_ok() {
                // A deletion that failed after the Service came back has recorded it as deleted.
                self.tracker.lock().adopt(key);
            }
            match &lookup {
                Ok(_) if !exists => self.forget(key),
                // Its Endpoints are not ours, so that the write that waited is never made.
                Ok(Lookup::Nothing) => drop(self.waiting.lock().remove(key)),
                // With the cache locked, so that the event is not missed.
                Err(SyncError::StaleCache) => self.tracker.lock().wait(key),
                Ok(_) | Err(_) => {}
            }
            lookup
        });
        if matches!(lookup, Err(SyncError::StaleCache)) {
            self.remember(key, memory);
        }
        lookup
    }

    fn remember(&self, key: &ObjectKey, memory: Option<Memory>) {
        if let Some(memory) = memory {
            self.memories.keep(key, memory.seen().len(), memory);
        }
    }

    /// Plans the write of a sync, and remembers what it has seen.
    fn plan(&self, key: &ObjectKey, input: SyncInput) -> Result<(Plan, Urgency), SyncError> {
        let planner = input.prepare()?;
        let trigger_time = planner.trigger_time(&mut self.trigger_times.lock());
        let earlier = self.waiting.lock().remove(key);
        let trigger_time = earlier.into_iter().chain(trigger_time).min();
        let (plan, refused) = planner.plan(trigger_time);
        report_refused_addresses(&self.recorder, planner.service(), &refused, "Endpoints");
        let urgency = planner.urgency(&plan)?;
        self.remember(key, planner.into_memory(&plan));
        Ok((plan, urgency))
    }

    /// The writes that a sync of this key would make, if that is known. Changes nothing.
    pub(crate) fn pending(&self, key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        let write = match self.cache.read(|state| self.lookup(key, state, &mut None)).ok()? {
            Lookup::Nothing => None,
            // What is unclear is asked of the API server by the sync alone.
            Lookup::Leftover(stored) | Lookup::Unclear(stored, _) => {
                Some(PendingWrite::Delete(stored.decode().ok()?.into()))
            }
            Lookup::Served(input) => {
                let planner = input.prepare().ok()?;
                match (planner.plan(None).0, planner.stored()) {
                    (Plan::Nothing, _) => None,
                    (Plan::Create(new), _) | (Plan::Update(new), None) => {
                        Some(PendingWrite::Create(new.into()))
                    }
                    (Plan::Update(new), Some(stored)) => {
                        Some(PendingWrite::Update(stored.decode().ok()?.into(), new.into()))
                    }
                }
            }
        };
        Some(write.into_iter().collect())
    }

    /// Forgets a Service that was deleted, of a key whose sync is skipped, once its Endpoints are gone: others that are created
    /// under its name are not its.
    pub(crate) fn skip(&self, key: &ObjectKey) {
        self.cache.read(|state| {
            let stored = state.endpoints.get(&key.namespace, &key.name);
            let mut tracker = self.tracker.lock();
            let is_leftover = stored.is_some_and(|stored| tracker.orphan_of(key, &stored.uid).is_some());
            if state.services.get(&key.namespace, &key.name).is_some() || !is_leftover {
                tracker.adopt(key);
            }
        });
    }

    /// Asks the API server whether the Service of these Endpoints was deleted, or given to another controller.
    async fn is_leftover(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        endpoints: &CachedEndpoints,
        orphan: Orphan,
    ) -> Result<bool, SyncError> {
        let service = self.writer.service(sync, key).await.map_err(|error| {
            self.tracker.lock().put_back(key, orphan);
            SyncError::Unclear(key.clone(), error)
        })?;
        let may_be_delegated = self.config.services_may_be_delegated && is_ours(endpoints);
        Ok(service.is_none_or(|service| may_be_delegated && is_delegated_with_selector(&service)))
    }

    /// Deletes the Endpoints of a deleted Service. A failed deletion is remembered for the retry, any other until its event.
    async fn delete_leftover(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        endpoints: &CachedEndpoints,
    ) -> Result<(), WriteError> {
        let orphan = Orphan { uid: Some(endpoints.uid.clone()), selected: false, listed: false };
        if sync.admit(Urgency::Soft.level(), 1) == 0 {
            self.tracker.lock().put_back(key, orphan);
            return Ok(());
        }
        let deleted = self.delete(sync, key, endpoints).await;
        let mut tracker = self.tracker.lock();
        match &deleted {
            Ok(()) => {
                tracker.settled(key);
                tracker.deleted(key, endpoints.uid.clone());
            }
            Err(_) => tracker.put_back(key, orphan),
        }
        deleted
    }

    async fn apply(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        plan: &Plan,
        urgency: Urgency,
    ) -> Result<(), WriteError> {
        if let Plan::Create(endpoints) | Plan::Update(endpoints) = plan
            && sync.admit(urgency.level(), 1) == 0
        {
            self.keep_trigger_time(key, endpoints);
            return Ok(());
        }
        let (endpoints, written) = match plan {
            Plan::Nothing => {
                self.tracker.lock().settled(key);
                return Ok(());
            }
            Plan::Create(endpoints) => (endpoints, self.writer.create(sync, key, endpoints).await),
            Plan::Update(endpoints) => (endpoints, self.writer.update(sync, key, endpoints).await.map(Some)),
        };
        match written {
            Ok(written) => {
                let metadata = written.unwrap_or_default();
                let uid = Uid::from(metadata.uid.as_deref().unwrap_or_default());
                self.repairs.count_write(key, matches!(plan, Plan::Create(_)).then_some(&uid));
                let mut tracker = self.tracker.lock();
                tracker.settled(key);
                if let Some(version) = metadata.resource_version {
                    self.repairs.wrote(version.as_str().into());
                    tracker.wrote(key, uid, version.as_str().into());
                }
                debug!(controller = Self::NAME, key = %key, "Wrote Endpoints");
                Ok(())
            }
            Err(error) => {
                self.repairs.count_write(key, None);
                if may_be_stored(&error) {
                    self.tracker.lock().unanswered(key);
                }
                self.report_failure(key, endpoints, &error);
                Err(error)
            }
        }
    }

    /// Keeps the trigger time of a write that waits for its turn: the next plan dates its write by the earliest change in it.
    fn keep_trigger_time(&self, key: &ObjectKey, planned: &core::Endpoints) {
        let annotations = planned.metadata.annotations.as_ref();
        let time = annotations.and_then(|annotations| annotations.get(LAST_CHANGE_TRIGGER_TIME));
        if let Some(time) = time {
            self.waiting.lock().insert(key.clone(), time.clone());
        }
    }

    async fn delete(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        endpoints: &CachedEndpoints,
    ) -> Result<(), WriteError> {
        self.writer.delete(sync, key, endpoints).await?;
        debug!(controller = Self::NAME, key = %key, "Deleted Endpoints");
        Ok(())
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.trigger_times.lock().forget(&key.namespace, &key.name);
        self.waiting.lock().remove(key);
        // Each time, because an earlier addition of the key, such as a retry, replaces a later one.
        if let Some(rest) = self.tracker.lock().forget(key, Instant::now()) {
            self.queue.revisit(key.clone(), rest);
        }
        self.repairs.forget(key);
        drop(self.memories.take(key));
    }
}
