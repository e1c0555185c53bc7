//! The sync of one Service: read the cache, plan, apply, record.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use controller_kit::write::{Verb, WriteError};
use endpoint_controllers_common::report_refused_addresses;
use endpoint_informers::cache::Change;
use endpoint_informers::controller::Controller as _;
use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::pending::PendingWrite;
use endpointslice::Urgency;
use endpointslice::desired::Skipped;
use endpointslice::model::{ResourceVersion, Uid};
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::time::Instant;
use tracing::debug;

use crate::controller::EndpointsController;
use crate::error::SyncError;
use crate::leftovers::{Target, may_request};
use crate::lookup::{Lookup, Unproven};
use crate::plan::Plan;
use crate::planner::SyncInput;
use crate::sync_cache::SyncCache;

/// True if the object may exist after this failed create.
fn may_be_stored(error: &WriteError) -> bool {
    error.verb == Verb::Create && (error.source.is_unavailable() || error.source.is_already_exists())
}

/// The metadata of an object of which only the key is known.
fn named(key: &ObjectKey) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(key.namespace.to_string()),
        name: Some(key.name.to_string()),
        ..ObjectMeta::default()
    }
}

impl EndpointsController {
    /// Syncs one Service, and records the outcome.
    pub(crate) async fn sync_service(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        let handle = |deferred: Vec<Change<CachedEndpoints>>| {
            for change in &deferred {
                self.cache.read(|state| self.handle_endpoints(change, state));
            }
        };
        self.repairs.begin_sync(key);
        let _running = self.deferred.begin(key, handle);
        let result = match self.read(sync, key)? {
            Lookup::Nothing | Lookup::Waiting(_) => Ok(()),
            Lookup::Leftover(endpoints, orphan) => {
                self.delete_leftover(sync, key, &Target::cached(&endpoints), orphan).await
            }
            Lookup::Unclear(endpoints, orphan) => {
                self.delete_if_leftover(sync, key, Target::cached(&endpoints), orphan).await?
            }
            Lookup::Unproven(unproven) => self.delete_what_existed(sync, key, unproven).await?,
            Lookup::Served(input) => {
                let service = Arc::clone(&input.service);
                let (plan, urgency, refused) = self.plan(key, input)?;
                let applied = self.apply(sync, key, &plan, urgency).await;
                if !sync.waits() {
                    report_refused_addresses(&self.recorder, &service, &refused, "Endpoints");
                }
                applied
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

    /// Reads the cache for a sync. A sync cache that is of no use is dropped when the cache is unlocked again, because that
    /// takes long for many pods.
    fn read(&self, sync: &SyncContext, key: &ObjectKey) -> Result<Lookup, SyncError> {
        let mut sync_cache = self.sync_caches.take(key);
        let lookup = self.cache.read(|state| {
            let lookup = self.lookup(key, state, &mut sync_cache);
            if lookup.as_ref().is_ok_and(|lookup| !may_request(sync, lookup)) {
                // What is known of the deleted Service stays for its turn.
                return Ok(Lookup::Nothing);
            }
            let exists = state.services.get(&key.namespace, &key.name).is_some();
            if exists || lookup.as_ref().is_ok_and(|lookup| !matches!(lookup, Lookup::Waiting(_))) {
                // A deletion that failed after the Service came back has recorded it as deleted.
                self.tracker.lock().adopt(key);
            }
            match &lookup {
                Ok(Lookup::Waiting(rest)) => self.queue.revisit(key.clone(), *rest),
                Ok(_) if !exists => self.forget(key),
                // Its Endpoints are not ours, so that the write that waited is never made.
                Ok(Lookup::Nothing) => drop(self.waiting.lock().remove(key)),
                // With the cache locked, so that the event is not missed.
                Err(SyncError::StaleCache) => {
                    let mut tracker = self.tracker.lock();
                    tracker.wait(key);
                    if let Some(rest) = tracker.patience(key, Instant::now()) {
                        self.queue.revisit(key.clone(), rest);
                    }
                }
                Ok(_) | Err(_) => {}
            }
            lookup
        });
        if matches!(lookup, Err(SyncError::StaleCache)) {
            self.remember(key, sync_cache);
        }
        lookup
    }

    fn remember(&self, key: &ObjectKey, sync_cache: Option<SyncCache>) {
        if let Some(sync_cache) = sync_cache {
            self.sync_caches.keep(key, sync_cache.seen().len(), sync_cache);
        }
    }

    /// Plans the write of a sync, and remembers what it has seen. Returns the addresses that are left out, too.
    fn plan(&self, key: &ObjectKey, input: SyncInput) -> Result<(Plan, Urgency, Vec<Skipped>), SyncError> {
        let planner = input.prepare()?;
        let trigger_time = planner.trigger_time(&mut self.trigger_times.lock());
        let earlier = self.waiting.lock().remove(key);
        let trigger_time = earlier.into_iter().chain(trigger_time).min();
        let (plan, refused) = planner.plan(trigger_time);
        let urgency = planner.urgency(&plan);
        self.remember(key, planner.into_sync_cache(&plan));
        Ok((plan, urgency, refused))
    }

    /// The writes that a sync of this key would make, if that is known. Changes nothing.
    pub(crate) fn pending(&self, key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        let write = match self.cache.read(|state| self.lookup(key, state, &mut None)).ok()? {
            Lookup::Nothing | Lookup::Waiting(_) => None,
            // What is unclear is asked of the API server by the sync alone.
            Lookup::Leftover(stored, _)
            | Lookup::Unclear(stored, _)
            | Lookup::Unproven(Unproven { stored: Some(stored), .. }) => {
                Some(PendingWrite::Delete(stored.decode().ok()?.into()))
            }
            Lookup::Unproven(Unproven { stored: None, .. }) => {
                Some(PendingWrite::Delete(Endpoints { metadata: named(key), ..Endpoints::default() }.into()))
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
        // The writes of several Services overlap: a plan is one object of at most 1,000 addresses.
        sync.end_planning();
        let (endpoints, written) = match plan {
            Plan::Nothing => {
                self.tracker.lock().synced(key);
                return Ok(());
            }
            Plan::Create(endpoints) => (endpoints, self.writer.create(sync, key, endpoints).await),
            Plan::Update(endpoints) => (endpoints, self.writer.update(sync, key, endpoints).await.map(Some)),
        };
        match written {
            Ok(written) => {
                let metadata = written.unwrap_or_default();
                let uid = Uid::from(metadata.uid.as_deref().unwrap_or_default());
                let version = metadata.resource_version.as_deref().map(ResourceVersion::from);
                let is_created = matches!(plan, Plan::Create(_));
                self.repairs.count_write(key, is_created.then_some(&uid), version);
                let mut tracker = self.tracker.lock();
                tracker.synced(key);
                if let Some(version) = version {
                    tracker.wrote(key, uid, version, is_created);
                }
                debug!(controller = Self::NAME, key = %key, "Wrote Endpoints");
                Ok(())
            }
            Err(error) => {
                self.repairs.count_write(key, None, None);
                if may_be_stored(&error) {
                    self.tracker.lock().unanswered(key);
                }
                self.report_failure(key, endpoints, &error);
                Err(error)
            }
        }
    }

    /// Keeps the trigger time of a write that waits for its turn: the next plan dates its write by the earliest change in it.
    fn keep_trigger_time(&self, key: &ObjectKey, planned: &Endpoints) {
        let annotations = planned.metadata.annotations.as_ref();
        let time = annotations.and_then(|annotations| annotations.get(LAST_CHANGE_TRIGGER_TIME));
        if let Some(time) = time {
            self.waiting.lock().insert(key.clone(), time.clone());
        }
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.trigger_times.lock().forget(&key.namespace, &key.name);
        self.waiting.lock().remove(key);
        // Each time, because an earlier addition of the key, such as a retry, replaces a later one.
        if let Some(rest) = self.tracker.lock().forget(key, Instant::now()) {
            self.queue.revisit(key.clone(), rest);
        }
        self.repairs.forget(key);
        drop(self.sync_caches.take(key));
    }
}
