//! Slice events that arrive while their Service is being synced.
//!
//! The event of a write often overtakes the answer to it. Judged at once, it would look like somebody else's change,
//! because the tracker learns of the write only from the answer, and would cost a needless sync. So events of a
//! Service under sync wait until the sync is over.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::cache::{CachedSlice, Change, ObjectKey};

/// The Services under sync, and the events that wait for them.
#[derive(Default)]
pub(super) struct Echoes {
    in_flight: Mutex<HashMap<ObjectKey, Vec<Change<CachedSlice>>>>,
}

impl Echoes {
    /// A sync of this Service begins. A work queue never hands out a key twice at the same time.
    pub(super) fn begin(&self, key: &ObjectKey) {
        self.in_flight.lock().insert(key.clone(), Vec::new());
    }

    /// Keeps the event if its Service is under sync; otherwise it is to be handled now.
    pub(super) fn keep(&self, key: &ObjectKey, change: &Change<CachedSlice>) -> bool {
        let mut in_flight = self.in_flight.lock();
        let Some(kept) = in_flight.get_mut(key) else { return false };
        kept.push(change.clone());
        true
    }

    /// The sync is over: gives back what was kept, in order.
    pub(super) fn end(&self, key: &ObjectKey) -> Vec<Change<CachedSlice>> {
        self.in_flight.lock().remove(key).unwrap_or_default()
    }
}
