//! The end of a list, in batches.

use std::marker::PhantomData;

use controller_kit::environment::now;

use super::state_lock::WriteGuard;
use super::{BATCH_SIZE, Cache};
use crate::state::{CachedResource, ListPhase};
use crate::store::EntryHash;

/// The work that remains at the end of a list: removing what it did not show, and reporting that it is complete.
///
/// After a gap in the watch hundreds of thousands of objects may be gone. Removing all of them at once would block
/// every sync, and every other task on the thread, for a second. Between two [steps](Self::step) the cache shows what
/// it showed during the list: all that the list brought, and some objects that it didn't. So readers learn nothing new;
/// handlers see [`ListPhase::Complete`], and readers the list's resourceVersion, only after the last removal.
///
/// Events that arrive between two steps take precedence: an object that is added or changed stays, and one that is
/// deleted is deleted once. If this is dropped before its end, or another list begins, the list counts as broken off.
#[must_use = "nothing is removed before the first step"]
pub(crate) struct ListCompletion<'a, T> {
    cache: &'a Cache,
    resource_version: String,
    generation: u32,
    unlisted: Vec<EntryHash>,
    batch_size: usize,
    kind: PhantomData<fn() -> T>,
}

impl Cache {
    /// Ends a list: objects that it did not show were deleted while nothing was watched. From now on the cache shows
    /// everything up to the list's resourceVersion and nothing after it, whatever was seen before.
    ///
    /// For tests that play the API server: it blocks the thread, and between two batches of 128 the lock is free.
    pub fn finish_list<T: CachedResource>(&self, resource_version: &str) {
        let mut completion = self.complete_list::<T>(resource_version);
        while completion.step() {}
    }

    /// Ends a list in steps, between which the lock is free and the caller may yield to other tasks.
    pub(crate) fn complete_list<T: CachedResource>(
        &self,
        resource_version: impl Into<String>,
    ) -> ListCompletion<'_, T> {
        ListCompletion::new(self, resource_version.into())
    }
}

impl<'a, T: CachedResource> ListCompletion<'a, T> {
    fn new(cache: &'a Cache, resource_version: String) -> Self {
        let (generation, unlisted) = cache.read(|state| {
            let table = T::table(state);
            (table.generation(), table.unlisted())
        });
        Self { cache, resource_version, generation, unlisted, batch_size: BATCH_SIZE, kind: PhantomData }
    }

    /// The same with another batch size.
    #[cfg(test)]
    pub(super) fn in_batches_of(self, batch_size: usize) -> Self {
        Self { batch_size, ..self }
    }

    /// Does one batch, in one hold of the lock: removes at most [`BATCH_SIZE`] objects and calls the handlers. Returns
    /// true if there is more to do.
    ///
    /// The last step finds nothing more to remove and reports that the list is complete.
    pub(crate) fn step(&mut self) -> bool {
        let batch = self.unlisted.split_off(self.unlisted.len().saturating_sub(self.batch_size));
        let mut changes = Vec::new();
        let (hold, mut state) = self.cache.write();
        let table = T::table_mut(&mut state);
        if table.generation() != self.generation {
            return false;
        }
        if batch.is_empty() {
            let went_back = table.listed(&self.resource_version);
            let complete = ListPhase::Complete { went_back };
            self.cache.notify_list::<T>(&WriteGuard::downgrade(state), complete);
            return false;
        }
        let at = self.resource_version.parse().ok();
        changes.extend(batch.into_iter().filter_map(|hash| table.remove_unlisted(hash, at)));
        if state.disruption.is_some() {
            let now = now().as_second();
            for change in &changes {
                state.note_removed(change, now);
            }
            self.cache.wake_if_due(&mut state);
        }
        let state = WriteGuard::downgrade(state);
        // The order of the hash table must not decide which key is synced first.
        changes.sort_unstable_by(|one, other| one.namespaced_name().cmp(&other.namespaced_name()));
        self.cache.notify(&state, &changes, false);
        drop(state);
        drop(hold);
        self.cache.release(changes);
        true
    }
}
