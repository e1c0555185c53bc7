//! Changes and lists of slices, compared with the expectations.

use std::collections::HashMap;
use std::mem;

use controller_kit::key::ObjectKey;
use endpointslice::expectations::{Relisted, Removal};
use endpointslice::model::Uid;
use kube_api::time::Instant;

use super::{SliceExpectations, service_key};
use crate::kinds::CachedSlice;
use crate::repairs::{self, Author, Effect, ForeignChange};
use crate::resource::Change;
use crate::state::{ListPhase, State};

impl SliceExpectations {
    /// Observes a change of any slice, at the latest when the sync of its Service ends. For the handler of slices.
    pub fn observe(&self, change: &Change<CachedSlice>) {
        if let Some(key) = service_key(change.latest())
            && self.deferred.defer_if_syncing(&key, change, |earlier| self.count_foreign_write(earlier))
        {
            return;
        }
        self.handle(change);
    }

    fn count_foreign_write(&self, change: &Change<CachedSlice>) {
        if let Some(slice) = self.shown(change) {
            self.repairs.observe(slice.version, &slice.last_managers);
        }
    }

    /// The slice as a change shows it, if it is or was ours and not being deleted.
    fn shown<'a>(&self, change: &'a Change<CachedSlice>) -> Option<&'a CachedSlice> {
        let (slice, ours) = match change {
            Change::Added(slice) => (slice, self.manages(slice)),
            Change::Updated { old, new } => (new, self.manages(old) || self.manages(new)),
            Change::Deleted { .. } => return None,
        };
        (ours && !slice.deleting).then_some(slice)
    }

    /// Observes the phase of a list of slices. When a list completes, requeues waiting Services and those whose slices
    /// differ from our expectations; every Service with expectations if versions went back, because until then the
    /// cache seemed to have seen writes that it had not.
    ///
    /// Cost: a look at each slice in the cache and at each expectation.
    pub fn observe_list(&self, phase: ListPhase, state: &State) {
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
        let mut affected: Vec<ObjectKey> = differing.into_iter().map(|(key, _)| key).collect();
        if went_back {
            affected.extend(expectations.keys().cloned());
        }
        drop(expectations);
        // The order of hash tables must not decide which Service is synced first.
        affected.sort();
        for key in affected {
            self.unfinished.undone(&key);
            self.queue.add_after(key, self.delay);
        }
        let conflicted = mem::take(&mut *self.conflicted.lock());
        let mut due: Vec<ObjectKey> = waiting.into_iter().chain(conflicted).collect();
        due.sort();
        for key in due {
            self.queue.add(key);
        }
    }

    /// Handles a change. Changes during a sync of their Service are handled when it ends: before that it is not known which
    /// versions are our own writes.
    pub(super) fn handle(&self, change: &Change<CachedSlice>) {
        self.count_foreign_write(change);
        match change {
            Change::Added(slice) => self.added(slice),
            Change::Updated { old, new } => self.updated(old, new),
            Change::Deleted { last: slice, .. } => self.deleted(slice),
        }
    }

    fn added(&self, slice: &CachedSlice) {
        if self.manages(slice) && self.is_foreign_change(slice) {
            self.repair(slice, Effect::Other);
        }
        self.wake(slice);
    }

    fn updated(&self, old: &CachedSlice, new: &CachedSlice) {
        if self.is_retaken(old, new) {
            return self.wake(new);
        }
        let (was_ours, is_ours) = (self.manages(old), self.manages(new));
        let left = !is_ours || old.service != new.service || old.uid != new.uid;
        let deleted = new.deleting && !old.deleting;
        // Its absence from our slices must not look like a stale cache.
        let was_expected = if was_ours && (left || deleted) { self.removed(old) } else { false };
        if was_ours && left {
            self.gone(old);
        }
        let moved = old.service != new.service;
        if was_ours && (moved || !is_ours) && !was_expected {
            self.replace(old, self.repairs.author(&new.last_managers));
        } else if moved {
            self.sync_later(old);
        }
        if is_ours && (moved || !was_ours) {
            self.repair(new, Effect::Other);
        } else if moved || is_ours && deleted && was_expected {
            self.sync_later(new);
        } else if is_ours && deleted {
            self.repair(new, Effect::Deletion);
        } else if is_ours && self.is_foreign_change(new) && !self.accept(old, new) {
            self.repair(new, if takes_endpoints(old, new) { Effect::Loss } else { Effect::Other });
        }
        self.wake(new);
    }

    /// True if another client gave our slice to another manager or Service, and an update of ours, which asks for no version, has
    /// taken it back since: what the cache shows is older.
    fn is_retaken(&self, old: &CachedSlice, new: &CachedSlice) -> bool {
        let is_given = self.manages(old) && (!self.manages(new) || old.service != new.service);
        is_given
            && old.uid == new.uid
            && !new.deleting
            && self.expectations.lock().expects_later(&expectation_key(old), &old.uid, new.object_version())
    }

    fn deleted(&self, slice: &CachedSlice) {
        if !self.manages(slice) {
            // It may have been ours.
            return self.forget_repairs(slice);
        }
        self.gone(slice);
        if slice.service.is_some() && !self.removed(slice) {
            self.repair(slice, Effect::Deletion);
        } else {
            self.forget_repairs(slice);
        }
        self.wake(slice);
    }

    /// Forgets the foreign changes of a slice that does not exist any more.
    fn forget_repairs(&self, slice: &CachedSlice) {
        if let Some(key) = service_key(slice) {
            self.repairs.gone(&key, &slice.uid);
        }
    }

    /// Forgets what was written of a slice that its Service has no longer.
    fn gone(&self, slice: &CachedSlice) {
        if let Some(key) = service_key(slice) {
            self.unfinished.gone(&key, &slice.name);
        }
    }

    /// Ends the expectation of a slice that we no longer manage, or that was deleted. Returns true if we expected that.
    fn removed(&self, slice: &CachedSlice) -> bool {
        self.expectations.lock().removed(&expectation_key(slice), &slice.uid) == Removal::Expected
    }

    /// True unless this version of the slice is our own write.
    fn is_foreign_change(&self, slice: &CachedSlice) -> bool {
        self.expectations.lock().is_foreign(&expectation_key(slice), &slice.uid, slice.object_version())
    }

    /// Accepts a foreign change of the version that we know if it differs in nothing that a plan compares: a sync would
    /// write nothing because of it. Returns false if it must be compared by a sync.
    fn accept(&self, old: &CachedSlice, new: &CachedSlice) -> bool {
        if old.generation != new.generation || old.deleting != new.deleting || old.uid != new.uid {
            return false;
        }
        let (Ok(before), Ok(after)) = (old.decode_metadata(), new.decode_metadata()) else { return false };
        before.labels == after.labels
            && before.owner_references == after.owner_references
            && (self.ignores_annotations || before.annotations == after.annotations)
            && self.expectations.lock().accept(
                &expectation_key(new),
                &new.uid,
                old.object_version(),
                new.object_version(),
            )
    }

    /// Requeues the Service of a slice that another client changed.
    fn repair(&self, slice: &CachedSlice, effect: Effect) {
        let Some(key) = service_key(slice) else { return };
        self.unfinished.changed(&key, &slice.name);
        let author = match effect {
            Effect::Deletion => Author::Unknown,
            Effect::Loss | Effect::Other => self.repairs.author(&slice.last_managers),
        };
        let change = ForeignChange { object: &slice.uid, author, effect };
        self.repairs.foreign_change(key, self.delay, change);
    }

    /// Requeues the Service of a slice that another client gave to another manager or Service.
    fn replace(&self, slice: &CachedSlice, author: Author) {
        let Some(key) = service_key(slice) else { return };
        self.reassignments.lock().relabelled(&key, &slice.uid, author, Instant::now());
        let rest = self.rest(&key);
        self.queue.add_after(key, rest);
    }

    fn sync_later(&self, slice: &CachedSlice) {
        if let Some(key) = service_key(slice) {
            self.queue.add_after(key, self.delay);
        }
    }

    /// Requeues the slice's Service if its sync waits for the cache, which may be up to date now.
    fn wake(&self, slice: &CachedSlice) {
        let Some(key) = service_key(slice) else { return };
        let conflicted = self.conflicted.lock().remove(&key);
        // A write that conflicted with another client's may conflict with the next one as well: it waits as any repair.
        if self.expectations.lock().wake(&key) || conflicted && self.repairs.delay(&key).is_zero() {
            self.queue.add(key);
        }
    }
}

/// True if endpoints that receive traffic are gone from the slice, or if that is not known.
fn takes_endpoints(old: &CachedSlice, new: &CachedSlice) -> bool {
    let (Ok(old), Ok(new)) = (old.decode(), new.decode()) else { return true };
    repairs::takes_endpoints(&old, &new)
}

/// The key of the expectations of a slice, including a slice that names no Service.
fn expectation_key(slice: &CachedSlice) -> ObjectKey {
    service_key(slice).unwrap_or_else(|| ObjectKey::new(slice.namespace.clone(), ""))
}
