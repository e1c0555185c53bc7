//! The slices that one controller manages: which changes of them are another client's, and whether the cache shows our
//! own writes yet.
//!
//! A write comes back as a watch event. The tracker knows the resourceVersion that each write produced, so the echo
//! causes no sync, and a sync never acts on a cache that is behind our own writes: it waits, and the event that catches
//! up wakes it. If that event never comes, because the watch broke before it or a backup undid the write, a new list ends
//! the waiting. (`k8s.io/endpointslice` `util/endpointslice_tracker.go`; the handlers of slices in
//! `endpointslice_controller.go` and `endpointslicemirroring_controller.go`, which are alike.)
//!
//! # Foreign changes
//!
//! Every version of a slice that we did not write is compared with what we would write: the sync plans again, and a plan
//! compares exactly what upstream's sync compares. So whatever upstream repairs, by an event or by its resync of 12 to 24
//! hours, is repaired after `delay`, and what upstream leaves alone costs a look and no request:
//!
//! | | for a Service (`reconciler.go`) | mirrored (`endpointslicemirroring/reconciler.go`) |
//! |---|---|---|
//! | repaired | endpoints, ports, address type, hints; labels, but for the three of slices; no owner reference to the Service (deleted and made anew, except a lone placeholder); `managed-by`, `service-name`, deletion | endpoints, ports, address type; labels, annotations; an owner reference to older Endpoints; `managed-by`, `service-name`, deletion |
//! | left alone | annotations, finalizers, other owner references | finalizers, owner references that are missing or to others |
//!
//! How often that happens to one Service is limited by [`Repairs`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use endpointslice::expectations::{ObjectVersion, Relisted, Removal};
use endpointslice::model::Uid;
use endpointslice::plan::AddressTypePlan;
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME};
use endpointslice::{Expectations, SlicePlan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::DecodeError;
use parking_lot::Mutex;

use crate::cache::{Cache, CachedSlice, Change, ListPhase, ObjectKey, State};
use crate::echoes::{Echoes, UnderSync};
use crate::repairs::{Actor, Repairs};
use crate::slice_writer::{Applied, MAX_WRITES, Turn, Written};
use controller_kit::queue::WorkQueue;
use controller_kit::recorder::Recorder;
use controller_kit::write::WriteError;

/// What one controller knows about its slices between syncs. The keys of its queue are Services.
pub struct OwnSlices {
    managed_by: Arc<str>,
    queue: WorkQueue<ObjectKey>,
    delay: Duration,
    repairs: Repairs,
    expectations: Mutex<Expectations<ObjectKey>>,
    /// Services whose last write met a slice newer than the cache shows; its event wakes them.
    conflicted: Mutex<HashSet<ObjectKey>>,
    /// Services whose last turn ended before their plan.
    unfinished: Mutex<HashMap<ObjectKey, Unfinished>>,
    echoes: Echoes<CachedSlice>,
}

/// The slices of one Service that one controller manages.
#[derive(Debug)]
pub struct Found {
    /// Those that are not being deleted.
    pub staying: Vec<Arc<CachedSlice>>,
    /// Those that are, and still exist because of finalizers.
    pub leaving: Vec<Arc<CachedSlice>>,
}

/// A plan whose turn is over.
struct Unfinished {
    /// How many of its writes are left.
    left: usize,
    /// The turn made some of them.
    progress: bool,
}

/// The cache does not show our own last writes yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("EndpointSlice informer cache is out of date")]
pub struct StaleCache;

impl OwnSlices {
    /// Nothing known yet. `managed_by` is the controller's value of the label `endpointslice.kubernetes.io/managed-by`;
    /// Services whose slices another client changed are added to `queue` after `delay`, or later if that happens often.
    pub fn new(managed_by: impl Into<Arc<str>>, queue: WorkQueue<ObjectKey>, delay: Duration) -> Self {
        let managed_by = managed_by.into();
        let repairs = Repairs::new(queue.clone(), "");
        let (expectations, conflicted, unfinished, echoes) = Default::default();
        Self { managed_by, queue, delay, repairs, expectations, conflicted, unfinished, echoes }
    }

    /// The same; `manager` is the controller's own field manager, which is not named as the author of foreign changes.
    #[must_use]
    pub fn with_field_manager(self, manager: &str) -> Self {
        Self { repairs: Repairs::new(self.queue.clone(), manager), ..self }
    }

    /// A sync of this Service begins.
    pub fn begin_sync<'a>(
        &'a self,
        key: &'a ObjectKey,
    ) -> UnderSync<'a, CachedSlice, impl FnMut(&Change<CachedSlice>)> {
        self.conflicted.lock().remove(key);
        self.repairs.begin(key);
        self.echoes.begin(key, |change| self.judge(change))
    }

    /// The sync of this Service has made all its writes. If its slices are so contested that the next repair has to wait,
    /// the Service is told by an event of `recorder`.
    pub fn settled(&self, key: &ObjectKey, cache: &Cache, recorder: &Recorder) {
        self.repairs.settled(key, cache, recorder, "EndpointSlices");
    }

    /// The slices of this Service that are ours and not being deleted, unless the cache is behind our own writes. From
    /// now on any change of them is noticed.
    ///
    /// Decided while the cache is locked for reading, so that the slice we wait for cannot slip by.
    pub fn read(&self, key: &ObjectKey, state: &State) -> Result<Vec<Arc<CachedSlice>>, StaleCache> {
        Ok(self.read_all(key, state)?.staying)
    }

    /// The same, and beside them those that are being deleted.
    pub fn read_all(&self, key: &ObjectKey, state: &State) -> Result<Found, StaleCache> {
        let slices = state.slices_of(&key.namespace, &key.name, &self.managed_by);
        let (leaving, slices): (Vec<_>, Vec<_>) = slices.into_iter().partition(|slice| slice.deleting);
        let mut expectations = self.expectations.lock();
        let expected = leaving.iter().filter(|slice| !expectations.expects_deletion(key, &slice.uid));
        let cached = slices.iter().chain(expected).map(|slice| (slice.uid.clone(), slice.object_version()));
        if expectations.is_stale(key, state.slices.observed(), cached) {
            expectations.wait(key.clone());
            return Err(StaleCache);
        }
        for slice in &slices {
            expectations.observe(key, slice.uid.clone(), slice.object_version());
        }
        expectations.wake(key);
        drop(expectations);
        Ok(Found { staying: slices, leaving })
    }

    /// Notes a write that the sync of this Service has made.
    ///
    /// What comes back need not be ours any more: an admission webhook may have given the slice to another controller or
    /// Service. That is a foreign change, and its event will not show it as one.
    pub fn written(&self, key: &ObjectKey, written: &Written<'_>) {
        self.repairs.wrote(key);
        let (Written::Created(slice) | Written::Updated(slice) | Written::Deleted(slice)) = written;
        let uid = Uid::from(slice.metadata.uid.as_deref().unwrap_or_default());
        match written {
            Written::Deleted(_) => self.expectations.lock().expect_deleted(key.clone(), uid),
            Written::Created(slice) | Written::Updated(slice) if self.is_of(key, slice) => {
                let version = ObjectVersion::from(&slice.metadata);
                self.expectations.lock().expect(key.clone(), uid, version);
            }
            Written::Created(_) | Written::Updated(_) => {
                self.expectations.lock().removed(key, &uid);
                self.repairs.foreign_change(key.clone(), self.delay, Actor::Admission);
            }
        }
    }

    /// Notes that writes of the sync of this Service have failed. If one met a slice that is newer than the cache shows,
    /// the next event of the Service's slices adds it to the queue. To be called before the sync is over, so that no event
    /// slips by.
    pub fn failed(&self, key: &ObjectKey, errors: &[WriteError]) {
        for _ in errors {
            self.repairs.wrote(key);
        }
        if errors.iter().any(WriteError::is_transient) {
            self.conflicted.lock().insert(key.clone());
        }
    }

    /// How much of this plan the sync of this Service may carry out: a turn, or all of it if the last turn brought it no
    /// nearer to its end.
    pub fn turn(&self, key: &ObjectKey, plan: &SlicePlan) -> Turn<'_> {
        let last = self.unfinished.lock().remove(key);
        if last.is_some_and(|last| size(plan) > last.left + MAX_WRITES / 2) {
            Turn::to_the_end(&self.queue)
        } else {
            Turn::of(&self.queue)
        }
    }

    /// Notes what became of a plan.
    pub fn applied(&self, key: &ObjectKey, plan: &SlicePlan, applied: &Applied) {
        self.failed(key, &applied.errors);
        if applied.unfinished {
            // Without any success it is the back-off that brings the key back, and then all of the plan is tried.
            let progress = applied.writes > 0;
            let left = if progress { size(plan).saturating_sub(applied.writes) } else { 0 };
            self.unfinished.lock().insert(key.clone(), Unfinished { left, progress });
        }
    }

    /// To be called when the sync of this Service is over: if its turn ended before its plan, it goes on behind all other
    /// keys. If another client has changed a slice meanwhile, it goes on when that may be repaired.
    pub fn go_on(&self, key: &ObjectKey) {
        let mut unfinished = self.unfinished.lock();
        // Once for each turn: a sync that finds the cache behind makes none.
        if !unfinished.get_mut(key).is_some_and(|last| std::mem::take(&mut last.progress)) {
            return;
        }
        if self.repairs.is_open(key) {
            unfinished.remove(key);
        } else {
            self.queue.requeue(key.clone());
        }
    }

    fn is_of(&self, key: &ObjectKey, slice: &EndpointSlice) -> bool {
        let label = |name: &str| slice.metadata.labels.as_ref()?.get(name).map(String::as_str);
        label(MANAGED_BY) == Some(&*self.managed_by) && label(SERVICE_NAME) == Some(&*key.name)
    }

    /// Forgets a Service whose slices are no longer ours to keep.
    pub fn forget(&self, key: &ObjectKey) {
        self.expectations.lock().forget(key);
        self.leave(key);
    }

    /// A Service is no longer ours, as far as is known. What was written for it is still noted: if it belongs to another
    /// controller, its slices have to be deleted, all of them and in their last version; if it was deleted, the notes go
    /// with the slices.
    pub fn leave(&self, key: &ObjectKey) {
        self.unfinished.lock().remove(key);
        self.conflicted.lock().remove(key);
        let mut expectations = self.expectations.lock();
        expectations.allow_removal(key);
        expectations.wake(key);
        drop(expectations);
        self.repairs.forget(key);
    }

    /// True if this slice is managed by this controller.
    pub fn manages(&self, slice: &CachedSlice) -> bool {
        slice.managed_by.as_deref() == Some(&*self.managed_by)
    }

    /// Takes in a change of any slice, at the latest when its Service is no longer under sync.
    pub fn changed(&self, change: &Change<CachedSlice>) {
        if !service_key(change.latest()).is_some_and(|key| self.echoes.keep(&key, change)) {
            self.judge(change);
        }
    }

    /// Takes in how far a list of slices is. A complete one wakes the syncs that wait for the cache, and every Service
    /// whose slices are not what we knew of them before the list began; all Services that we know slices of if versions
    /// went back, because until then the cache seemed to have seen writes that it had not.
    ///
    /// Cost: a look at each slice in the cache and each one tracked.
    pub fn listed(&self, phase: ListPhase, state: &State) {
        let went_back = match phase {
            ListPhase::Begins => return self.expectations.lock().relist_begins(),
            ListPhase::Complete { went_back } => went_back,
        };
        let ours = state.slices.iter().filter(|slice| self.manages(slice) && !slice.deleting);
        let ours: HashMap<&Uid, &CachedSlice> = ours.map(|slice| (&slice.uid, &**slice)).collect();
        let mut expectations = self.expectations.lock();
        let Relisted { waiting, differing } = expectations.relist_completed(|key, uid| {
            let slice = ours.get(uid)?;
            let same_service = slice.namespace == key.namespace && slice.service.as_ref() == Some(&key.name);
            same_service.then(|| slice.object_version())
        });
        let mut concerned: Vec<ObjectKey> = differing.into_iter().map(|(key, _)| key).collect();
        if went_back {
            concerned.extend(expectations.keys().cloned());
        }
        drop(expectations);
        for key in concerned {
            self.repairs.foreign_change(key, self.delay, Actor::Unknown);
        }
        let conflicted = std::mem::take(&mut *self.conflicted.lock());
        for key in waiting.into_iter().chain(conflicted) {
            self.queue.add(key);
        }
    }

    fn judge(&self, change: &Change<CachedSlice>) {
        match change {
            Change::Added(slice) => self.added(slice),
            Change::Updated { old, new } => self.updated(old, new),
            Change::Deleted(slice) => self.deleted(slice),
        }
    }

    fn added(&self, slice: &CachedSlice) {
        if self.manages(slice) && self.is_foreign_change(slice) {
            self.contested(slice, self.repairs.actor(&slice.writers));
        }
        self.wake(slice);
    }

    fn updated(&self, old: &CachedSlice, new: &CachedSlice) {
        let (was_ours, is_ours) = (self.manages(old), self.manages(new));
        let left = !is_ours || old.service != new.service || old.uid != new.uid;
        let deleted = new.deleting && !old.deleting;
        // Once it has left our view, its absence there must not look like a cache that is behind.
        let expected = if was_ours && (left || deleted) { self.removed(old) } else { false };
        let actor = || self.repairs.actor(&new.writers);
        if old.service != new.service {
            // The slice has moved to another Service: both need a look, whoever manages it.
            for (slice, ours) in [(new, is_ours), (old, was_ours)] {
                if ours { self.contested(slice, actor()) } else { self.sync_later(slice) }
            }
        } else if is_ours && deleted && expected {
            self.sync_later(new);
        } else if was_ours != is_ours || is_ours && self.is_foreign_change(new) {
            self.contested(new, if deleted { Actor::Unknown } else { actor() });
        }
        self.wake(new);
    }

    fn deleted(&self, slice: &CachedSlice) {
        if !self.manages(slice) {
            return;
        }
        if slice.service.is_some() && !self.removed(slice) {
            self.contested(slice, Actor::Unknown);
        }
        self.wake(slice);
    }

    /// Forgets a slice that has left our view. True if it was expected to.
    fn removed(&self, slice: &CachedSlice) -> bool {
        let key = expected_key(slice);
        self.expectations.lock().removed(&key, &slice.uid) == Removal::Expected
    }

    /// True unless the slice is the echo of our own write.
    fn is_foreign_change(&self, slice: &CachedSlice) -> bool {
        let key = expected_key(slice);
        self.expectations.lock().is_foreign(&key, &slice.uid, slice.object_version())
    }

    /// Another client changed a slice of ours.
    fn contested(&self, slice: &CachedSlice, actor: Actor) {
        if let Some(key) = service_key(slice) {
            self.repairs.foreign_change(key, self.delay, actor);
        }
    }

    fn sync_later(&self, slice: &CachedSlice) {
        if let Some(key) = service_key(slice) {
            self.queue.add_after(key, self.delay);
        }
    }

    /// If a sync of this Service waits for the cache to catch up, it may have now.
    fn wake(&self, slice: &CachedSlice) {
        let Some(key) = service_key(slice) else { return };
        let conflicted = self.conflicted.lock().remove(&key);
        // A write that met another client's may meet the next one as well: then it waits as any repair.
        if self.expectations.lock().wake(&key) || conflicted && self.repairs.wait(&key).is_zero() {
            self.queue.add(key);
        }
    }
}

/// The writes of a plan.
fn size(plan: &SlicePlan) -> usize {
    plan.types.iter().map(AddressTypePlan::changes).sum::<usize>() + plan.delete_if_unchanged.len()
}

/// The Service that a slice names, if it names one.
pub fn service_key(slice: &CachedSlice) -> Option<ObjectKey> {
    let service = slice.service.as_ref()?;
    Some(ObjectKey::new(slice.namespace.clone(), service.clone()))
}

/// The key of the expectations of a slice, also of one that names no Service.
fn expected_key(slice: &CachedSlice) -> ObjectKey {
    service_key(slice).unwrap_or_else(|| ObjectKey::new(slice.namespace.clone(), ""))
}

/// The whole objects, in the same order. Cost: about a microsecond for each endpoint.
pub fn decode_all(slices: &[Arc<CachedSlice>]) -> Result<Vec<EndpointSlice>, DecodeError> {
    slices.iter().map(|slice| slice.decode()).collect()
}

#[cfg(test)]
mod tests;
