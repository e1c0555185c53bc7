//! The slices that one controller manages: the versions that it expects in the cache after its own writes, and the
//! changes that other clients make.
//!
//! A write comes back as a watch event. The resourceVersion of each write is known. So the event of our own write
//! causes no sync, and no sync acts on a cache that is behind our own writes: it waits, and the event that brings the
//! cache up to date requeues it. If that event never comes, because the watch broke before it or a backup undid the
//! write, a relist ends the wait. (`k8s.io/endpointslice` `util/endpointslice_tracker.go`; the handlers of slices in
//! `endpointslice_controller.go` and `endpointslicemirroring_controller.go`, which are alike.)
//!
//! # Foreign changes
//!
//! Every version of a slice that we did not write is compared with what we would write: the sync plans again, and a
//! plan compares exactly what upstream's sync compares. So whatever upstream repairs, by an event or by its resync of
//! 12 to 24 hours, is repaired after `delay`. What upstream leaves alone costs a sync without a request, or nothing if
//! the generation and the compared metadata of a slice show that there is nothing to repair:
//!
//! | | for a Service (`reconciler.go`) | mirrored (`endpointslicemirroring/reconciler.go`) |
//! |---|---|---|
//! | repaired | endpoints, ports, address type, hints; labels, except the three reserved for slices; a missing owner reference to the Service (the slice is deleted and created again, except a lone placeholder); `managed-by`, `service-name`, deletion | endpoints, ports, address type; labels, annotations; an owner reference to older Endpoints; `managed-by`, `service-name`, deletion |
//! | left alone | annotations, finalizers, other owner references | finalizers, owner references that are missing or to other objects |
//!
//! [`Repairs`] limits how often this happens for one Service, and [`reassignments`] the slices that are created in place of
//! those that another manager or Service gets.

mod observe;
mod reassignments;
mod unfinished;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::deferred_events::{DeferredEvents, SyncGuard};
use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use controller_kit::recorder::Recorder;
use controller_kit::write::WriteError;
use endpointslice::expectations::ObjectVersion;
use endpointslice::model::Uid;
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME};
use endpointslice::{Expectations, SlicePlan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::time::Instant;
use kube_protobuf::DecodeError;
use parking_lot::Mutex;

use self::reassignments::Reassignments;
pub(super) use self::reassignments::Taken;
use self::unfinished::UnfinishedPlans;
use super::budget::WriteBudget;
use super::sync_error::StaleCache;
use super::undone::Undone;
use super::writes::{Applied, Written};
use crate::cache::Cache;
use crate::kinds::CachedSlice;
use crate::repairs::{Repairs, report_contested};
use crate::resource::Change;
use crate::state::State;

/// The knowledge of one controller about its slices between syncs. The keys of its queue are Services.
pub struct SliceExpectations {
    managed_by: Arc<str>,
    /// Plans leave annotations as they are.
    ignores_annotations: bool,
    queue: WorkQueue<ObjectKey>,
    delay: Duration,
    repairs: Repairs,
    expectations: Mutex<Expectations<ObjectKey>>,
    /// Services whose last write met a slice that is newer than the cache shows. The event of that slice requeues them.
    conflicted: Mutex<HashSet<ObjectKey>>,
    unfinished: UnfinishedPlans,
    reassignments: Mutex<Reassignments>,
    deferred: DeferredEvents<Change<CachedSlice>>,
    pub(super) undone: Undone,
}

/// The slices of one Service that one controller manages.
#[derive(Debug)]
pub struct ManagedSlices {
    /// Slices that are not being deleted.
    pub current: Vec<Arc<CachedSlice>>,
    /// Slices that are being deleted and still exist because of finalizers.
    pub terminating: Vec<Arc<CachedSlice>>,
}

impl SliceExpectations {
    /// Expectations without any slice. `managed_by` is the controller's value of the label
    /// `endpointslice.kubernetes.io/managed-by`. Services whose slices another client changed are added to `queue`
    /// after `delay`, or later if that happens often.
    pub(crate) fn new(managed_by: impl Into<Arc<str>>, queue: WorkQueue<ObjectKey>, delay: Duration) -> Self {
        let managed_by = managed_by.into();
        let repairs = Repairs::new(queue.clone(), "");
        let (expectations, conflicted, unfinished, reassignments) = Default::default();
        let (deferred, undone) = Default::default();
        let ignores_annotations = false;
        Self {
            managed_by,
            ignores_annotations,
            queue,
            delay,
            repairs,
            expectations,
            conflicted,
            unfinished,
            reassignments,
            deferred,
            undone,
        }
    }

    /// The same with the controller's own field manager, which is never reported as the author of a foreign change.
    #[must_use]
    pub(super) fn with_field_manager(self, manager: &str) -> Self {
        Self { repairs: Repairs::new(self.queue.clone(), manager), ..self }
    }

    /// The same for a controller whose plans leave annotations of slices as they are.
    #[must_use]
    pub(super) fn ignoring_annotations(self) -> Self {
        Self { ignores_annotations: true, ..self }
    }

    /// The foreign changes of these slices.
    pub(super) fn repairs(&self) -> &Repairs {
        &self.repairs
    }

    /// Begins a sync of this Service. When the guard is dropped, the events that were deferred meanwhile are handled,
    /// and a Service whose plan is not finished is requeued behind all waiting keys.
    pub fn begin_sync<'a>(
        &'a self,
        key: &'a ObjectKey,
    ) -> SyncGuard<'a, Change<CachedSlice>, impl FnMut(Vec<Change<CachedSlice>>)> {
        self.conflicted.lock().remove(key);
        self.repairs.begin_sync(key);
        self.deferred.begin(key, |deferred| {
            for change in &deferred {
                self.handle(change);
            }
            self.requeue_unfinished(key);
        })
    }

    /// Records that the sync of this Service made all its writes. If other clients change its slices so often that the next
    /// repair has to wait, or take so many that no more are created, the Service gets an event through `recorder`.
    pub(super) fn sync_succeeded(&self, key: &ObjectKey, cache: &Cache, recorder: &Recorder) {
        self.repairs.sync_succeeded(key, cache, recorder, "EndpointSlices");
        let Some(author) = self.reassignments.lock().report(key) else { return };
        let message = format!(
            "New EndpointSlices of this Service are given to another controller or Service by {author}; until that ends, \
             endpoints that need a new EndpointSlice are not published, except by one try from time to time"
        );
        report_contested(key, cache, recorder, "EndpointSlices", &author, message);
    }

    /// Reads the Service's slices that this controller manages. Changes nothing here.
    ///
    /// # Errors
    ///
    /// The cache is behind our own writes.
    pub fn read(&self, key: &ObjectKey, state: &State) -> Result<ManagedSlices, StaleCache> {
        let slices = self.managed(key, state);
        if is_stale(&self.expectations.lock(), key, state, &slices) { Err(StaleCache) } else { Ok(slices) }
    }

    /// Reads the Service's slices for a sync. From now on every change of them counts as one.
    ///
    /// Decided while the cache is locked for reading, so that the event of the missing slice cannot be missed.
    ///
    /// # Errors
    ///
    /// The cache is behind our own writes. The event that brings it up to date requeues the Service.
    pub fn read_or_wait(&self, key: &ObjectKey, state: &State) -> Result<ManagedSlices, StaleCache> {
        let slices = self.managed(key, state);
        let mut expectations = self.expectations.lock();
        if is_stale(&expectations, key, state, &slices) {
            expectations.wait(key.clone());
            return Err(StaleCache);
        }
        for slice in &slices.current {
            expectations.observe(key, slice.uid.clone(), slice.object_version());
        }
        expectations.wake(key);
        Ok(slices)
    }

    fn managed(&self, key: &ObjectKey, state: &State) -> ManagedSlices {
        let slices = state.slices_of(&key.namespace, &key.name, &self.managed_by);
        let (terminating, current) = slices.into_iter().partition(|slice| slice.deleting);
        ManagedSlices { current, terminating }
    }

    /// Records a successful write of the running sync of this Service.
    ///
    /// The stored slice need not be ours any more: an admission webhook or policy may have given it to another controller or
    /// Service. Its event will not show that as a foreign change.
    pub(crate) fn written(&self, key: &ObjectKey, written: &Written<'_>) {
        let (Written::Created(metadata) | Written::Updated(metadata) | Written::Deleted(metadata)) = written;
        let uid = Uid::from(metadata.uid.as_deref().unwrap_or_default());
        let is_created = matches!(written, Written::Created(_));
        if matches!(written, Written::Deleted(_)) {
            self.repairs.count_write(key, None, None);
            return self.expectations.lock().expect_deleted(key.clone(), uid);
        }
        let version = ObjectVersion::from(*metadata);
        self.repairs.count_write(key, is_created.then_some(&uid), Some(version.resource_version));
        if self.is_of(key, metadata) {
            self.expectations.lock().expect(key.clone(), uid.clone(), version);
            if is_created {
                self.reassignments.lock().kept(key, &uid, Instant::now());
            }
            return;
        }
        self.expectations.lock().removed(key, &uid);
        if !is_created {
            self.reassignments.lock().updated(key, Instant::now());
            self.queue.add_after(key.clone(), self.rest(key));
        }
    }

    /// The slices of this Service that admission gave to another manager or Service when we created them.
    pub(super) fn taken(&self, key: &ObjectKey) -> Vec<Taken> {
        self.reassignments.lock().taken(key)
    }

    /// The number of writes that the running sync of this Service may make: what the rate limit `admitted`, up to
    /// [`MAX_WRITES`](super::budget::MAX_WRITES).
    pub(super) fn budget(&self, key: &ObjectKey, admitted: usize) -> WriteBudget<'_> {
        let creates = self.reassignments.lock().creates(key, Instant::now());
        WriteBudget::of(&self.queue, admitted).with_creates(creates)
    }

    /// The part of a plan that the syncs before have not made, if they did not finish theirs.
    pub(super) fn rest_of<'a>(&self, key: &ObjectKey, plan: Cow<'a, SlicePlan>) -> Cow<'a, SlicePlan> {
        self.unfinished.rest(key, plan, self.ignores_annotations)
    }

    /// Records the outcome of a plan. If a write met a slice that is newer than the cache shows, the next event of the
    /// Service's slices requeues it. Called during the sync, so that this event cannot be missed.
    ///
    /// Returns slices that admission took in earlier syncs, and that are to be deleted unless somebody has changed them since.
    #[must_use]
    pub(super) fn applied(&self, key: &ObjectKey, plan: &SlicePlan, applied: &Applied) -> Vec<Taken> {
        for _ in &applied.errors {
            self.repairs.count_write(key, None, None);
        }
        let is_complete = applied.errors.is_empty() && !applied.unfinished && !applied.creates_withheld;
        let wanted = plan.types.iter().flat_map(|plan| &plan.create);
        let superseded =
            self.reassignments.lock().synced(key, &applied.taken, wanted, is_complete, Instant::now());
        if applied.creates_withheld || !applied.taken.is_empty() {
            self.queue.add_after(key.clone(), self.rest(key));
        }
        if applied.errors.iter().any(WriteError::is_transient) {
            self.conflicted.lock().insert(key.clone());
        }
        superseded
    }

    /// Records the names of the slices that a plan has updated, if writes of it are left. If none is, and another client has changed
    /// some of them again and again meanwhile, the next repair follows.
    pub(super) fn keep_unfinished(
        &self,
        key: &ObjectKey,
        plan: &SlicePlan,
        applied: &Applied,
        updated: &[String],
    ) {
        if self.unfinished.applied(key, plan, applied, updated, self.ignores_annotations) {
            self.queue.add_after(key.clone(), self.repairs.delay(key).max(self.delay));
        }
    }

    /// The time after which a slice of this Service may be created in place of one that another manager or Service got.
    fn rest(&self, key: &ObjectKey) -> Duration {
        self.reassignments.lock().rest(key, Instant::now()).max(self.delay)
    }

    /// Requeues a Service whose plan is not finished behind all waiting keys: what is left of it waits for no repair.
    fn requeue_unfinished(&self, key: &ObjectKey) {
        if self.unfinished.take_requeue(key) {
            self.queue.requeue(key.clone());
        }
    }

    /// Forgets the slices that a Service has lost which is to have none.
    pub(super) fn forget_losses(&self, key: &ObjectKey) {
        self.reassignments.lock().forget(key);
    }

    fn is_of(&self, key: &ObjectKey, metadata: &ObjectMeta) -> bool {
        let label = |name: &str| metadata.labels.as_ref()?.get(name).map(String::as_str);
        label(MANAGED_BY) == Some(&*self.managed_by) && label(SERVICE_NAME) == Some(&*key.name)
    }

    /// Forgets a Service whose slices this controller no longer maintains.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.expectations.lock().forget(key);
        self.release(key);
    }

    /// Records that nothing is left to write for a Service that keeps its slices, as one of type ExternalName does.
    pub fn abandon_plan(&self, key: &ObjectKey) {
        self.unfinished.forget(key);
    }

    /// Records that a Service was deleted or delegated. Expectations are kept: if the Service belongs to another
    /// controller, all its slices must be deleted in their last version; if it was deleted, each expectation ends with
    /// its slice.
    pub fn release(&self, key: &ObjectKey) {
        self.unfinished.forget(key);
        self.conflicted.lock().remove(key);
        self.reassignments.lock().forget(key);
        self.undone.forget(key);
        let mut expectations = self.expectations.lock();
        expectations.allow_removal(key);
        expectations.wake(key);
        drop(expectations);
        self.repairs.forget(key);
    }

    /// Everything that is remembered between syncs, except the repairs of other clients' changes, which end after minutes.
    /// The tables `expected`, `unfinished` and `losses` are about what exists; the others are empty when nothing is left to do.
    pub fn remembered(&self) -> Vec<(&'static str, ObjectKey)> {
        // Before the lock of the expectations, which is taken with that of the updates held.
        let mut remembered: Vec<_> = self.undone.keys().into_iter().map(|key| ("undone", key)).collect();
        let expectations = self.expectations.lock();
        remembered.extend(expectations.keys().map(|key| ("expected", key.clone())));
        remembered.extend(expectations.waiting().map(|key| ("waiting", key.clone())));
        remembered.extend(self.conflicted.lock().iter().map(|key| ("conflicted", key.clone())));
        remembered.extend(self.unfinished.keys().into_iter().map(|key| ("unfinished", key)));
        remembered.extend(self.reassignments.lock().services().map(|key| ("losses", key.clone())));
        remembered
    }

    /// True if an update was answered with the version of the slice that was expected before it.
    pub(super) fn is_as_before(&self, key: &ObjectKey, answer: &ObjectMeta) -> bool {
        let uid = Uid::from(answer.uid.as_deref().unwrap_or_default());
        self.expectations.lock().expects(key, &uid, ObjectVersion::from(answer))
    }

    /// The plan of a sync without the updates that an admission policy undoes, if the last sync of the Service failed.
    pub(super) fn without_undone<'a>(&self, key: &ObjectKey, plan: &'a SlicePlan) -> Cow<'a, SlicePlan> {
        if self.queue.num_requeues(key) == 0 {
            return Cow::Borrowed(plan);
        }
        let is_as_then = |uid: &Uid, version| self.expectations.lock().expects(key, uid, version);
        self.undone.without(key, plan, is_as_then)
    }

    /// True if this controller manages the slice.
    fn manages(&self, slice: &CachedSlice) -> bool {
        slice.managed_by.as_deref() == Some(&*self.managed_by)
    }
}

/// True if the cache is behind our own writes. A slice that is being deleted counts as shown, unless we deleted it.
fn is_stale(
    expectations: &Expectations<ObjectKey>,
    key: &ObjectKey,
    state: &State,
    slices: &ManagedSlices,
) -> bool {
    let terminating = slices.terminating.iter();
    let terminating = terminating.filter(|slice| !expectations.expects_deletion(key, &slice.uid));
    let cached = slices.current.iter().chain(terminating);
    let cached = cached.map(|slice| (slice.uid.clone(), slice.object_version()));
    expectations.is_stale(key, state.slices.comparable(), cached)
}

/// The Service that a slice names, if it names one.
pub fn service_key(slice: &CachedSlice) -> Option<ObjectKey> {
    let service = slice.service.as_ref()?;
    Some(ObjectKey::new(slice.namespace.clone(), service.clone()))
}

/// Decodes slices, in the same order. Cost: about a microsecond for each endpoint.
pub fn decode_all(slices: &[Arc<CachedSlice>]) -> Result<Vec<EndpointSlice>, DecodeError> {
    slices.iter().map(|slice| slice.decode()).collect()
}

#[cfg(test)]
mod tests;
