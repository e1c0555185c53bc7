//! The time from a change to its write: what begins a change, and what ends it.

use std::time::Duration;

use kube_api::time::Instant;

use super::core::Core;
use super::{Priority, QueueKey, Shared, WorkQueue};

impl<K: QueueKey> WorkQueue<K> {
    /// [`add`](Self::add) for a change that was seen earlier than now.
    pub fn add_seen_at(&self, key: K, seen: Instant) {
        self.shared.with(|core, now| core.add_seen_at(seen.into_std(), key, Priority::Normal, now));
    }

    /// Adds `key` after `delay` although nothing has changed, to look after it again. No change is unwritten meanwhile.
    pub fn revisit(&self, key: K, delay: Duration) {
        self.shared.with(|core, now| core.revisit(key, delay, now));
    }

    /// Adds a key that a worker holds again after `delay`: a part of its change waits for then.
    pub fn postpone(&self, key: K, delay: Duration) {
        self.shared.with(|core, now| core.postpone(key, delay, now));
    }

    /// Keeps a key that a worker holds until it is [unparked](Self::unpark), at most for `longest`. Its change stays unwritten.
    pub(crate) fn park(&self, key: K, urgency: &'static str, longest: Duration) {
        self.shared.with(|core, now| core.park(key, urgency, longest, now));
    }

    /// Ends the wait of a [parked](Self::park) key, and adds it if its turn `comes`.
    pub(crate) fn unpark(&self, key: &K, comes: bool) {
        self.shared.with(|core, now| core.unpark(key, comes, now));
    }

    /// Records that the worker which holds `key` found something to write.
    pub fn needs_write(&self, key: &K) {
        self.shared.core.lock().needs_write(key);
    }

    /// Ends the change that the worker which holds `key` got it for: whatever can be written for it has been. If one of
    /// the syncs since then found something to write, the time since the oldest add is observed.
    ///
    /// [`forget`](Self::forget) does this too. Not if the worker has [requeued](Self::requeue) or
    /// [postponed](Self::postpone) the key: then the change ends with that hand-out.
    pub fn written(&self, key: &K) {
        self.shared.end_change(|core, _| core.written(key));
    }

    /// The age of the oldest change that has not been written, of all keys; zero if there is none.
    ///
    /// A key counts from its first add until a sync of it succeeds, also while that sync has not found yet whether there is
    /// anything to write. Cost: O(n) in the number of keys, under the queue's lock.
    pub fn oldest_change(&self) -> Duration {
        self.shared.oldest_change()
    }
}

impl<K: QueueKey> Shared<K> {
    /// Does a step that may end a change, and observes how long it took.
    pub(super) fn end_change(
        &self,
        step: impl FnOnce(&mut Core<K>, std::time::Instant) -> Option<std::time::Instant>,
    ) {
        let (seen, now) = self.with(|core, now| (step(core, now), now));
        if let (Some(seen), Some(series)) = (seen, self.series.get()) {
            series.changes.durations.observe(now.saturating_duration_since(seen).as_secs_f64());
        }
    }

    pub(super) fn oldest_change(&self) -> Duration {
        let oldest = self.core.lock().oldest_change();
        oldest.map_or(Duration::ZERO, |seen| Instant::now().into_std().saturating_duration_since(seen))
    }
}
