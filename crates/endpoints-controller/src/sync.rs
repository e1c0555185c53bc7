//! The sync of one Service: read the cache, plan, apply, record.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::write::{Verb, WriteError};
use endpoint_informers::cache::{Change, State, UnreadableObject};
use endpoint_informers::controller::Controller as _;
use endpoint_informers::events::report_refused_addresses;
use endpoint_informers::kinds::{CachedEndpoints, SelectedPods, UnreadableObjects};
use endpoint_informers::seen_pods::PodChanges;
use endpointslice::desired::Skipped;
use endpointslice::model::Uid;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Pod, Service};
use k8s_openapi::api::core::v1::{self as core, Endpoints};
use kube_api::time::Instant;
use kube_protobuf::Message as _;
use tracing::debug;

use crate::controller::EndpointsController;
use crate::desired::Unready;
use crate::error::SyncError;
use crate::memory::{Changed, Difference, Memory, NeedsAll};
use crate::metadata::is_ours;
use crate::plan::Plan;
use crate::planning::{is_served, plan_service};
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

/// A consistent read of the cache.
enum Snapshot {
    /// Neither Service nor Endpoints, or a Service whose Endpoints are not ours to write.
    NothingToDo,
    /// The Service was deleted; these are its Endpoints.
    Leftover(Arc<CachedEndpoints>),
    /// The Service was deleted, or given to another controller, and the cache doesn't show which, or it exists and the cache
    /// is behind. The Endpoints may be another client's.
    Unclear(Arc<CachedEndpoints>, Orphan),
    /// A Service with a selector, and the pods that have changed since the last sync that is remembered.
    Changes(Box<Reading>),
    /// A Service with a selector, of which some objects could not be decoded.
    Service {
        service: Arc<Service>,
        pods: SelectedPods,
        stored: Option<Arc<CachedEndpoints>>,
        unreadable: UnreadableObjects,
    },
}

/// A Service, the pods that have changed since the last sync that is remembered, and the stored object.
struct Reading {
    service: Arc<Service>,
    memory: Memory,
    /// True if the memory is of the last sync, false if it is new.
    is_known: bool,
    changes: PodChanges,
    stored: Option<Arc<CachedEndpoints>>,
}

impl EndpointsController {
    /// Syncs one Service, and records the outcome.
    pub(crate) async fn sync_service(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let handle = |deferred: Vec<Change<CachedEndpoints>>| {
            for change in &deferred {
                self.cache.read(|state| self.handle(change, state));
            }
        };
        self.repairs.begin_sync(key);
        let _sync = self.deferred.begin(key, handle);
        let result = match self.snapshot(key)? {
            Snapshot::NothingToDo => Ok(()),
            Snapshot::Leftover(endpoints) => self.delete_leftover(key, &endpoints).await,
            Snapshot::Unclear(endpoints, orphan) => {
                let service = self.writer.service(key).await.inspect_err(|_| {
                    self.tracker.lock().put_back(key, orphan);
                });
                let service = service.map_err(|error| SyncError::Unclear(key.clone(), error))?;
                let may_be_delegated = self.config.services_may_be_delegated && is_ours(&endpoints);
                if service.is_none_or(|service| may_be_delegated && is_delegated_with_selector(&service)) {
                    self.delete_leftover(key, &endpoints).await
                } else {
                    Ok(())
                }
            }
            Snapshot::Changes(reading) => {
                let plan = self.plan_changes(key, *reading)?;
                self.apply(key, &plan).await
            }
            Snapshot::Service { service, pods, stored, unreadable } => {
                let stored = stored.map(|stored| stored.decode()).transpose()?;
                if let Some(stored) = &stored {
                    check_pods(stored, &unreadable)?;
                }
                let plan = self.plan(&service, &pods.sorted(), stored.as_ref());
                self.apply(key, &plan).await
            }
        };
        match &result {
            Ok(()) => self.repairs.sync_succeeded(key, &self.cache, &self.recorder, "Endpoints"),
            // The cache may be stale, or the write may have been stored although the response was lost.
            Err(error) if error.is_transient() || error.source.is_unavailable() => {
                self.tracker.lock().wait(key);
            }
            Err(_) => {}
        }
        Ok(result?)
    }

    /// Deletes the Endpoints of a deleted Service. A failed deletion is remembered for the retry, any other until its event.
    async fn delete_leftover(&self, key: &ObjectKey, endpoints: &CachedEndpoints) -> Result<(), WriteError> {
        let orphan = Orphan { uid: Some(endpoints.uid.clone()), selected: false, listed: false };
        let deleted = self.delete(key, endpoints).await;
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

    /// Reads the cache (`endpoints_controller.go` `syncService`).
    fn snapshot(&self, key: &ObjectKey) -> Result<Snapshot, SyncError> {
        // A memory of no use is dropped when the cache is unlocked again, because that takes long for many pods.
        let mut memory = self.memories.take(key);
        let snapshot = self.look(key, &mut memory);
        if let (Err(SyncError::StaleCache), Some(memory)) = (&snapshot, memory) {
            self.memories.keep(key, memory.seen().len(), memory);
        }
        snapshot
    }

    fn look(&self, key: &ObjectKey, memory: &mut Option<Memory>) -> Result<Snapshot, SyncError> {
        self.cache.read(|state| {
            let stored = state.endpoints.get(&key.namespace, &key.name);
            match state.services.get(&key.namespace, &key.name) {
                None => {
                    state.services.check_absent(&key.namespace, &key.name)?;
                    self.check_not_behind(key, stored, state)?;
                    let left = if let Some(stored) = stored {
                        self.left_behind(key, stored, state)
                    } else {
                        self.tracker.lock().adopt(key);
                        Snapshot::NothingToDo
                    };
                    self.forget(key);
                    Ok(left)
                }
                Some(service) => {
                    // A deletion that failed after the Service came back has recorded it as deleted.
                    self.tracker.lock().adopt(key);
                    let Some(selector) = service.selector.as_ref().filter(|_| is_served(service)) else {
                        return Ok(Snapshot::NothingToDo);
                    };
                    state.endpoints.check_absent(&key.namespace, &key.name)?;
                    self.check_not_behind(key, stored, state)?;
                    let (service, stored) = (Arc::clone(service), stored.cloned());
                    if let Some(unreadable) = state.unreadable_in(&key.namespace) {
                        let pods = state.pods_selected(&key.namespace, selector);
                        return Ok(Snapshot::Service { service, pods, stored, unreadable });
                    }
                    Ok(Snapshot::Changes(Box::new(self.read_changes(service, memory, stored, state))))
                }
            }
        })
    }

    /// Decides about Endpoints whose Service is not in our watch.
    ///
    /// If the Service was deleted, they are deleted too, as upstream does, also if another client created them. If the
    /// Service is delegated, only Endpoints that we wrote for its selector are deleted (KEP-4770): those of a Service
    /// without a selector belong to its users, even if they have our label. Endpoints that appear after their Service was
    /// deleted stay, unless they are a late create of ours.
    fn left_behind(&self, key: &ObjectKey, stored: &Arc<CachedEndpoints>, state: &State) -> Snapshot {
        let mut tracker = self.tracker.lock();
        let late = tracker.may_be_late(key) && self.repairs.is_own(&stored.last_managers);
        let orphan = tracker.take_orphan(key, &stored.uid);
        drop(tracker);
        let orphan = if late { Some(Orphan { uid: None, selected: true, listed: false }) } else { orphan };
        let Some(orphan) = orphan else { return Snapshot::NothingToDo };
        if orphan.listed {
            return Snapshot::Unclear(Arc::clone(stored), orphan);
        }
        if !self.config.services_may_be_delegated {
            return Snapshot::Leftover(Arc::clone(stored));
        }
        let selected = match state.delegated.get(&key.namespace, &key.name) {
            Some(service) if service.has_selector && is_ours(stored) => true,
            Some(_) => return Snapshot::NothingToDo,
            None => orphan.selected && is_ours(stored),
        };
        if selected {
            Snapshot::Leftover(Arc::clone(stored))
        } else {
            Snapshot::Unclear(Arc::clone(stored), orphan)
        }
    }

    /// Fails if the cache is behind our last write. Called with the cache locked, so that the awaited event is not missed.
    fn check_not_behind(
        &self,
        key: &ObjectKey,
        stored: Option<&Arc<CachedEndpoints>>,
        state: &State,
    ) -> Result<(), SyncError> {
        let mut tracker = self.tracker.lock();
        if tracker.is_behind(key, stored.map(|stored| stored.version), state.endpoints.comparable()) {
            tracker.wait(key);
            return Err(SyncError::StaleCache);
        }
        Ok(())
    }

    /// Reads the pods that have changed since the last sync, if it is remembered.
    fn read_changes(
        &self,
        service: Arc<Service>,
        memory: &mut Option<Memory>,
        stored: Option<Arc<CachedEndpoints>>,
        state: &State,
    ) -> Reading {
        let memory = memory.take_if(|memory| memory.is_current(&service));
        let is_known = memory.is_some();
        let unready = Unready::of(&service, self.config.tolerate_unready_annotation);
        let memory = memory.unwrap_or_else(|| Memory::new(Arc::clone(&service), unready));
        let selector = service.selector.clone().unwrap_or_default();
        let changes = state.pods_changed(&service.namespace, &selector, memory.seen());
        Reading { service, memory, is_known, changes, stored }
    }

    /// Plans by the changes since the last sync ([`memory`](crate::memory)), and remembers this one.
    fn plan_changes(&self, key: &ObjectKey, reading: Reading) -> Result<Plan, SyncError> {
        let Reading { service, mut memory, is_known, changes, stored } = reading;
        let encoded = stored.as_ref().map(|stored| stored.encoded.unpack());
        let stored = stored.as_ref().zip(encoded.as_deref());
        if let Some((stored, encoded)) = stored {
            memory.observe(stored, encoded);
        }
        let (Changed { gone, new }, listed) = memory.update(changes);
        let has_one_subset = listed.is_ok();
        let difference = listed.and_then(|()| memory.compare(stored));
        let decoded = match &difference {
            Ok(_) => None,
            Err(NeedsAll) => stored.map(|(_, encoded)| Endpoints::decode(encoded)).transpose()?,
        };
        let trigger_time = {
            let mut times = self.trigger_times.lock();
            let (gone, new) = (gone.iter().map(|pod| &**pod), new.iter().map(|pod| &**pod));
            let advanced = if is_known { times.advance(&service, gone, new) } else { None };
            advanced.unwrap_or_else(|| times.compute(&service, memory.seen().iter().map(|seen| &*seen.pod)))
        };
        let (plan, refused) = match difference {
            Ok(Difference::Nothing) => (Plan::Nothing, vec![]),
            Ok(Difference::Write(head)) => (memory.write(head.as_deref(), trigger_time), vec![]),
            Err(NeedsAll) => self.writes(&service, &memory.sorted_pods(), decoded.as_ref(), trigger_time),
        };
        report_refused_addresses(&self.recorder, &service, &refused, "Endpoints");
        // Services that are in sync, or without Endpoints, are many at a start, and few of them change soon.
        if has_one_subset && (is_known || matches!(plan, Plan::Update(_))) {
            self.memories.keep(key, memory.seen().len(), memory);
        }
        Ok(plan)
    }

    fn plan(&self, service: &Service, pods: &[Arc<Pod>], stored: Option<&Endpoints>) -> Plan {
        // Also if nothing is written: the next trigger time is computed from this one.
        let trigger_time = self.trigger_times.lock().compute(service, pods.iter().map(|pod| &**pod));
        let (plan, refused) = self.writes(service, pods, stored, trigger_time);
        report_refused_addresses(&self.recorder, service, &refused, "Endpoints");
        plan
    }

    /// Plans the write for a Service. Also returns the addresses that are left out because the API server refuses them.
    pub(crate) fn writes(
        &self,
        service: &Service,
        pods: &[Arc<Pod>],
        stored: Option<&Endpoints>,
        trigger_time: Option<String>,
    ) -> (Plan, Vec<Skipped>) {
        let unready = Unready::of(service, self.config.tolerate_unready_annotation);
        plan_service(service, pods.iter().map(|pod| &**pod), stored, unready, trigger_time)
    }

    /// True if a sync of this key would create or update Endpoints. Changes nothing.
    pub(crate) fn is_out_of_sync(&self, key: &ObjectKey) -> bool {
        let read = self.cache.read(|state| {
            let service =
                state.services.get(&key.namespace, &key.name).filter(|service| is_served(service))?;
            let stored = state.endpoints.get(&key.namespace, &key.name).cloned();
            Some(self.read_changes(Arc::clone(service), &mut None, stored, state))
        });
        let Some(Reading { service, mut memory, changes, stored, .. }) = read else { return false };
        let (_, listed) = memory.update(changes);
        let encoded = stored.as_ref().map(|stored| stored.encoded.unpack());
        let stored = stored.as_ref().zip(encoded.as_deref());
        match listed.and_then(|()| memory.compare(stored)) {
            Ok(Difference::Nothing) => false,
            Ok(Difference::Write(_)) => true,
            Err(NeedsAll) => {
                let decoded = stored.map(|(_, encoded)| Endpoints::decode(encoded)).transpose();
                let Ok(stored) = decoded else { return false };
                self.writes(&service, &memory.sorted_pods(), stored.as_ref(), None).0 != Plan::Nothing
            }
        }
    }

    async fn apply(&self, key: &ObjectKey, plan: &Plan) -> Result<(), WriteError> {
        let (endpoints, written) = match plan {
            Plan::Nothing => {
                self.tracker.lock().settled(key);
                return Ok(());
            }
            Plan::Create(endpoints) => (endpoints, self.writer.create(key, endpoints).await),
            Plan::Update(endpoints) => (endpoints, self.writer.update(key, endpoints).await.map(Some)),
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

    async fn delete(&self, key: &ObjectKey, endpoints: &CachedEndpoints) -> Result<(), WriteError> {
        self.writer.delete(key, endpoints).await?;
        debug!(controller = Self::NAME, key = %key, "Deleted Endpoints");
        Ok(())
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.trigger_times.lock().forget(&key.namespace, &key.name);
        // Each time, because an earlier addition of the key, such as a retry, replaces a later one.
        if let Some(rest) = self.tracker.lock().forget(key, Instant::now()) {
            self.queue.revisit(key.clone(), rest);
        }
        self.repairs.forget(key);
        drop(self.memories.take(key));
    }
}

/// Fails if an address belongs to a pod that could not be decoded: the plan would remove it.
pub(crate) fn check_pods(stored: &Endpoints, unreadable: &UnreadableObjects) -> Result<(), UnreadableObject> {
    let subsets = stored.subsets.iter().flatten();
    let addresses = subsets.flat_map(|subset| [&subset.addresses, &subset.not_ready_addresses]);
    let targets = addresses.flatten().flatten().filter_map(|address| address.target_ref.as_ref());
    let mut pods = targets.filter(|target| target.kind.as_deref() == Some("Pod"));
    pods.try_for_each(|pod| unreadable.check_pod(pod.name.as_deref().unwrap_or_default()))
}
