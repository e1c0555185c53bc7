//! Events that arrive while their key is being synced.
//!
//! The event of a write often arrives before the response to it. Handled at once, it would look like another client's
//! change, because the controller learns what it wrote only from the response, and would cause a needless sync. So
//! events of a key that is being synced are deferred until the sync ends.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::key::ObjectKey;

/// The events of a key that are deferred one by one. Further ones are joined with the events before them, because a sync may
/// take minutes, and another client may change an object many times a second.
const APART: usize = 128;

/// An event that can be deferred.
pub trait DeferredEvent: Clone {
    /// Both events as one, if `next` is the next event of the same object and nothing but its states in between is lost.
    fn join(&self, next: &Self) -> Option<Self>;
}

/// The keys that are being synced, and their deferred events.
///
/// Cost: an entry for each running sync, and a copy of each deferred event: of 128 events, and two more for each object, which are
/// its changes as one and its deletion.
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

impl<E: DeferredEvent> DeferredEvents<E> {
    /// Begins a sync of this key; `handle` is called once, when the sync ends. A work queue never returns a key twice
    /// at the same time.
    pub fn begin<'a, H: FnMut(Vec<E>)>(&'a self, key: &'a ObjectKey, handle: H) -> SyncGuard<'a, E, H> {
        self.syncing.lock().insert(key.clone(), Vec::new());
        SyncGuard { events: self, key, handle }
    }

    /// Defers the event if its key is being synced. Otherwise returns false, and the caller handles the event now. An earlier
    /// event that is joined with this one is passed to `superseded`, because the state that it shows is not handled later.
    pub fn defer_if_syncing(&self, key: &ObjectKey, event: &E, superseded: impl FnOnce(&E)) -> bool {
        let mut syncing = self.syncing.lock();
        let Some(deferred) = syncing.get_mut(key) else { return false };
        let mut earlier = deferred.iter_mut().skip(APART - 1).rev();
        match earlier.find_map(|earlier| earlier.join(event).map(|both| (earlier, both))) {
            Some((earlier, both)) => superseded(&std::mem::replace(earlier, both)),
            None => deferred.push(event.clone()),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An update of an object from one version to another.
    #[derive(Clone)]
    struct Update {
        object: &'static str,
        from: usize,
        to: usize,
    }

    impl DeferredEvent for Update {
        fn join(&self, next: &Self) -> Option<Self> {
            (self.object == next.object && self.to == next.from)
                .then(|| Self { from: self.from, ..next.clone() })
        }
    }

    #[test]
    fn many_events_of_an_object_become_one() {
        let (events, key) = (DeferredEvents::default(), ObjectKey::new("shop", "web"));
        let (mut handled, mut superseded) = (Vec::new(), 0);
        let sync = events.begin(&key, |deferred| handled = deferred);
        for to in 1..=10_000 {
            for object in ["a", "b"] {
                let update = Update { object, from: to - 1, to };
                assert!(events.defer_if_syncing(&key, &update, |_| superseded += 1));
            }
        }
        drop(sync);
        assert_eq!((handled.len(), superseded), (APART + 1, 20_000 - APART - 1));
        for object in ["a", "b"] {
            let shown: Vec<&Update> = handled.iter().filter(|update| update.object == object).collect();
            assert!(shown.windows(2).all(|pair| pair[0].to == pair[1].from), "nothing is left out");
            assert_eq!(shown.last().unwrap().to, 10_000);
        }
        assert!(!events.defer_if_syncing(&key, &Update { object: "a", from: 0, to: 1 }, |_| ()));
    }
}
