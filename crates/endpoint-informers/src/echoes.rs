//! Events that arrive while their key is being synced.
//!
//! The event of a write often overtakes the answer to it. Judged at once, it would look like somebody else's change,
//! because the controller learns what it wrote only from the answer, and would cost a needless sync. So events of a
//! key under sync wait until the sync is over.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::cache::{Change, ObjectKey};

/// The keys under sync, and the events that wait for them.
///
/// Cost: an entry for each sync, and a shared pointer or two for each event that waits.
pub struct Echoes<T> {
    in_flight: Mutex<HashMap<ObjectKey, Vec<Change<T>>>>,
}

impl<T> Default for Echoes<T> {
    fn default() -> Self {
        Self { in_flight: Mutex::default() }
    }
}

/// A key under sync. What came meanwhile is judged when this is dropped, however the sync ends.
#[must_use = "the sync is over when this is dropped"]
pub struct UnderSync<'a, T, J: FnMut(&Change<T>)> {
    echoes: &'a Echoes<T>,
    key: &'a ObjectKey,
    judge: J,
}

impl<T, J: FnMut(&Change<T>)> Drop for UnderSync<'_, T, J> {
    fn drop(&mut self) {
        let kept = self.echoes.in_flight.lock().remove(self.key);
        for change in kept.into_iter().flatten() {
            (self.judge)(&change);
        }
    }
}

impl<T> Echoes<T> {
    /// A sync of this key begins. A work queue never hands out a key twice at the same time.
    pub fn begin<'a, J: FnMut(&Change<T>)>(&'a self, key: &'a ObjectKey, judge: J) -> UnderSync<'a, T, J> {
        self.in_flight.lock().insert(key.clone(), Vec::new());
        UnderSync { echoes: self, key, judge }
    }

    /// Keeps the event if its key is under sync; otherwise it is to be judged now.
    pub fn keep(&self, key: &ObjectKey, change: &Change<T>) -> bool {
        let mut in_flight = self.in_flight.lock();
        let Some(kept) = in_flight.get_mut(key) else { return false };
        kept.push(change.clone());
        true
    }
}
