//! The slices that one controller manages: which changes of them are somebody else's, and whether the cache shows our
//! own writes yet.
//!
//! A write comes back as a watch event. The tracker knows the generation that each write produced, so the echo causes no
//! sync, and a sync never acts on a cache that is behind our own writes: it waits, and the event that catches up wakes
//! it. If that event never comes, because the watch broke before it or a backup undid the write, a new list ends the
//! waiting. (`k8s.io/endpointslice` `util/endpointslice_tracker.go`; the handlers of slices in
//! `endpointslice_controller.go` and `endpointslicemirroring_controller.go`, which are alike.)

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use endpointslice::SliceTracker;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::DecodeError;
use parking_lot::Mutex;

use crate::cache::{CachedSlice, Change, ListPhase, ObjectKey, State};
use crate::echoes::{Echoes, UnderSync};
use crate::queue::WorkQueue;
use crate::slice_writer::Written;

/// What one controller knows about its slices between syncs. The keys of its queue are Services.
pub struct OwnSlices {
    managed_by: Arc<str>,
    queue: WorkQueue<ObjectKey>,
    delay: Duration,
    tracker: Mutex<SliceTracker>,
    /// Services whose last read found the cache behind our own writes; the slice that was missing wakes them.
    stale: Mutex<HashSet<ObjectKey>>,
    echoes: Echoes<CachedSlice>,
}

/// The cache does not show our own last writes yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("EndpointSlice informer cache is out of date")]
pub struct StaleCache;

impl OwnSlices {
    /// Nothing known yet. `managed_by` is the controller's value of the label `endpointslice.kubernetes.io/managed-by`;
    /// Services whose slices somebody else changed are added to `queue` after `delay`.
    pub fn new(managed_by: impl Into<Arc<str>>, queue: WorkQueue<ObjectKey>, delay: Duration) -> Self {
        let managed_by = managed_by.into();
        let (tracker, stale, echoes) = Default::default();
        Self { managed_by, queue, delay, tracker, stale, echoes }
    }

    /// A sync of this Service begins.
    pub fn begin_sync<'a>(
        &'a self,
        key: &'a ObjectKey,
    ) -> UnderSync<'a, CachedSlice, impl FnMut(&Change<CachedSlice>)> {
        self.echoes.begin(key, |change| self.judge(change))
    }

    /// The slices of this Service that are ours and not being deleted, unless the cache is behind our own writes. From
    /// now on their disappearance is noticed.
    ///
    /// Decided while the cache is locked for reading, so that the slice we wait for cannot slip by.
    pub fn read(&self, key: &ObjectKey, state: &State) -> Result<Vec<Arc<CachedSlice>>, StaleCache> {
        let mut slices = state.slices_of(&key.namespace, &key.name, &self.managed_by);
        slices.retain(|slice| !slice.deleting);
        let mut tracker = self.tracker.lock();
        let cached = slices.iter().map(|slice| (&*slice.uid, slice.generation));
        if tracker.is_stale(&key.namespace, &key.name, state.slices.observed(), cached) {
            self.stale.lock().insert(key.clone());
            return Err(StaleCache);
        }
        for slice in &slices {
            let version = slice.version.number().unwrap_or_default();
            tracker.seen(&key.namespace, &key.name, &slice.uid, slice.generation, version);
        }
        drop(tracker);
        self.stale.lock().remove(key);
        Ok(slices)
    }

    /// The next event of this Service's slices adds it to the queue: a write met a slice that is newer than the cache
    /// shows. To be called before the sync is over, so that no event slips by.
    pub fn wait(&self, key: &ObjectKey) {
        self.stale.lock().insert(key.clone());
    }

    /// Notes a write of ours.
    pub fn written(&self, written: &Written<'_>) {
        let mut tracker = self.tracker.lock();
        match written {
            Written::Created(slice) | Written::Updated(slice) => tracker.written(slice),
            Written::Deleted(slice) => tracker.deleted(slice),
        }
    }

    /// Forgets a Service whose slices are no longer ours to keep.
    pub fn forget(&self, key: &ObjectKey) {
        self.tracker.lock().forget_service(&key.namespace, &key.name);
        self.stale.lock().remove(key);
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
            ListPhase::Begins => return self.tracker.lock().list_begins(),
            ListPhase::Complete { went_back } => went_back,
        };
        let ours = state.slices.iter().filter(|slice| self.manages(slice) && !slice.deleting);
        let ours: HashMap<&str, &CachedSlice> = ours.map(|slice| (&*slice.uid, &**slice)).collect();
        let mut tracker = self.tracker.lock();
        let mut concerned = tracker.listed(|namespace, service, uid| {
            let slice = ours.get(uid)?;
            let same_service = *slice.namespace == *namespace && slice.service.as_deref() == Some(service);
            same_service.then(|| (slice.generation, slice.version.number().unwrap_or_default()))
        });
        if went_back {
            concerned.extend(tracker.services().cloned());
        }
        drop(tracker);
        for (namespace, service) in concerned {
            self.queue.add_after(ObjectKey::new(namespace, service), self.delay);
        }
        let waiting = std::mem::take(&mut *self.stale.lock());
        for key in waiting {
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
            self.sync_later(slice);
        }
        self.wake(slice);
    }

    fn updated(&self, old: &CachedSlice, new: &CachedSlice) {
        let (was_ours, is_ours) = (self.manages(old), self.manages(new));
        if was_ours && (!is_ours || old.service != new.service || new.deleting) {
            // It has left our view, so its absence there must not look like a cache that is behind.
            self.gone(old);
        }
        if old.service != new.service {
            // The slice has moved to another Service: both need a look, whoever manages it.
            self.sync_later(new);
            self.sync_later(old);
        } else if was_ours != is_ours || is_ours && self.is_foreign_change(new) {
            self.sync_later(new);
        }
        self.wake(new);
    }

    fn deleted(&self, slice: &CachedSlice) {
        if !self.manages(slice) {
            return;
        }
        if slice.service.is_some() && !self.gone(slice) {
            self.sync_later(slice);
        }
        self.wake(slice);
    }

    /// Forgets a slice that has left our view. False if it should not have.
    fn gone(&self, slice: &CachedSlice) -> bool {
        let service = slice.service.as_deref().unwrap_or_default();
        self.tracker.lock().gone(&slice.namespace, service, &slice.uid)
    }

    /// True unless the slice is the echo of our own write.
    fn is_foreign_change(&self, slice: &CachedSlice) -> bool {
        let service = slice.service.as_deref().unwrap_or_default();
        self.tracker.lock().should_sync(&slice.namespace, service, &slice.uid, slice.generation)
    }

    fn sync_later(&self, slice: &CachedSlice) {
        if let Some(key) = service_key(slice) {
            self.queue.add_after(key, self.delay);
        }
    }

    /// If a sync of this Service waits for the cache to catch up, it may have now.
    fn wake(&self, slice: &CachedSlice) {
        if let Some(key) = service_key(slice)
            && self.stale.lock().remove(&key)
        {
            self.queue.add(key);
        }
    }
}

/// The Service that a slice names, if it names one.
pub fn service_key(slice: &CachedSlice) -> Option<ObjectKey> {
    let service = slice.service.as_ref()?;
    Some(ObjectKey::new(slice.namespace.clone(), service.clone()))
}

/// The whole objects, in the same order. Cost: about a microsecond for each endpoint.
pub fn decode_all(slices: &[Arc<CachedSlice>]) -> Result<Vec<EndpointSlice>, DecodeError> {
    slices.iter().map(|slice| slice.decode()).collect()
}

#[cfg(test)]
mod tests;
