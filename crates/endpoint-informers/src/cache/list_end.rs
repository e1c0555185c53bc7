//! The end of a list, in portions.

use parking_lot::RwLockWriteGuard;

use super::store::Ticket;
use super::{Cache, CachedKind, ListPhase, PORTION};
use controller_kit::queue::Lane;

/// What is left to do at the end of a list: to remove what it did not show, and to tell that it is complete.
///
/// After a gap in the watch hundreds of thousands of objects may be gone. To remove them all at once would keep every
/// sync, and everything else on the thread, waiting for a second. Between two [steps](Self::step) the cache is what it
/// was during the list: all that the list showed, and some that it didn't. So readers learn nothing new from it, and
/// handlers hear of [`ListPhase::Complete`], and readers of the list's resourceVersion, only after the last removal.
///
/// Events that arrive between two steps win: an object that is added or changed stays, one that is deleted is deleted
/// once. Dropped before its end, or overtaken by another list, this is a list that broke off.
#[must_use = "nothing is removed before the first step"]
pub struct ListEnd<'a, T> {
    cache: &'a Cache,
    resource_version: String,
    generation: u32,
    unlisted: Vec<Ticket>,
    portion: usize,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<'a, T: CachedKind> ListEnd<'a, T> {
    pub(super) fn new(cache: &'a Cache, resource_version: String) -> Self {
        let (generation, unlisted) = cache.read(|state| {
            let store = T::store(state);
            (store.generation(), store.unlisted())
        });
        let kind = std::marker::PhantomData;
        Self { cache, resource_version, generation, unlisted, portion: PORTION, kind }
    }

    /// The same in other portions.
    #[cfg(test)]
    pub(super) fn in_portions_of(self, portion: usize) -> Self {
        Self { portion, ..self }
    }

    /// Does the next portion, in one hold of the lock: removes at most [`PORTION`] objects and tells handlers. Returns
    /// true if there is more to do.
    ///
    /// The last step finds nothing more to remove and declares the list complete.
    pub fn step(&mut self) -> bool {
        let portion = self.unlisted.split_off(self.unlisted.len().saturating_sub(self.portion));
        // Declared first and so dropped last: the memory of old objects is given back without the lock.
        let mut changes = Vec::new();
        let mut state = self.cache.state.write();
        let store = T::store_mut(&mut state);
        if store.generation() != self.generation {
            return false;
        }
        if portion.is_empty() {
            let went_back = store.listed(&self.resource_version);
            let complete = ListPhase::Complete { went_back };
            self.cache.notify_list::<T>(&RwLockWriteGuard::downgrade(state), complete);
            return false;
        }
        changes.extend(portion.into_iter().filter_map(|ticket| store.remove_unlisted(ticket)));
        let state = RwLockWriteGuard::downgrade(state);
        self.cache.notify(&state, &changes, Lane::Live);
        // Whoever waits goes first: without this, the thread that unlocks usually gets the lock again.
        parking_lot::RwLockReadGuard::unlock_fair(state);
        true
    }
}
