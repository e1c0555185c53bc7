//! Events that arrive while their key is being synced.
//!
//! The event of a write often arrives before the response to it. Handled at once, it would look like another client's
//! change, because the controller learns what it wrote only from the response, and would cause a needless sync. So
//! events of a key that is being synced are deferred until the sync ends.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::key::ObjectKey;

/// The keys that are being synced, and their deferred events.
///
/// Cost: an entry for each running sync, and a copy of each deferred event.
pub struct DeferredEvents<E> {
    syncing: Mutex<HashMap<ObjectKey, Vec<E>>>,
}

impl<E> Default for DeferredEvents<E> {
    fn default() -> Self {
        Self { syncing: Mutex::default() }
    }
}

/// A running sync. Dropping it, however the sync ends, passes the deferred events to `handle`.
#[must_use = "the sync ends when this is dropped"]
pub struct SyncGuard<'a, E, H: FnMut(Vec<E>)> {
    events: &'a DeferredEvents<E>,
    key: &'a ObjectKey,
    handle: H,
}

impl<E, H: FnMut(Vec<E>)> Drop for SyncGuard<'_, E, H> {
    fn drop(&mut self) {
        let deferred = self.events.syncing.lock().remove(self.key);
        (self.handle)(deferred.unwrap_or_default());
    }
}

impl<E: Clone> DeferredEvents<E> {
    /// Begins a sync of this key; `handle` is called once, when the sync ends. A work queue never returns a key twice
    /// at the same time.
    pub fn begin<'a, H: FnMut(Vec<E>)>(&'a self, key: &'a ObjectKey, handle: H) -> SyncGuard<'a, E, H> {
        self.syncing.lock().insert(key.clone(), Vec::new());
        SyncGuard { events: self, key, handle }
    }

    /// Defers the event if its key is being synced. Otherwise returns false, and the caller handles the event now.
    pub fn defer_if_syncing(&self, key: &ObjectKey, event: &E) -> bool {
        let mut syncing = self.syncing.lock();
        let Some(deferred) = syncing.get_mut(key) else { return false };
        deferred.push(event.clone());
        true
    }
}
