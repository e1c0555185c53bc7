//! The changes that keys wait for: from the add, through hand-outs and retries, to the sync that has written them.

use std::time::{Duration, Instant};

use super::super::delays::{Delay, Wait};
use super::super::key::QueueKey;
use super::super::priority::Priority;
use super::super::unwritten::merged;
use super::{Core, later};

impl<K: QueueKey> Core<K> {
    /// Adds a key after `delay` although nothing has changed.
    pub(in super::super) fn revisit(&mut self, key: K, delay: Duration, now: Instant) {
        self.add_later(key, Priority::Normal, delay, None, now);
    }

    /// Adds a key that a worker holds again after `delay`, for the rest of its change.
    pub(in super::super) fn postpone(&mut self, key: K, delay: Duration, now: Instant) {
        self.continue_later(&key);
        self.add_later(key, Priority::Normal, delay, None, now);
    }

    /// Keeps a key that a worker holds until its turn to write, at most for `longest`, with its change.
    pub(in super::super) fn park(&mut self, key: K, urgency: &'static str, longest: Duration, now: Instant) {
        self.add_due(now);
        if self.shut_down {
            return;
        }
        self.continue_later(&key);
        let change = self.delays.get(Wait::Turn, &key).and_then(|wait| wait.change);
        let delay = Delay::new(later(now, longest), Priority::Normal, change);
        self.delays.set(Wait::Turn, key, Delay { urgency: Some(urgency), ..delay });
    }

    /// Ends the wait of a parked key, and adds it if its turn `comes`: also if the wait has reached its longest, and the sync after
    /// it has not asked for its writes.
    pub(in super::super) fn unpark(&mut self, key: &K, comes: bool, now: Instant) {
        self.add_due(now);
        let parked = self.delays.remove(Wait::Turn, key);
        if comes && !self.shut_down {
            let change = parked.and_then(|parked| parked.change);
            self.insert(key.clone(), Priority::Normal, now, change);
        }
    }

    /// Adds a key that a worker holds again, for the rest of its change.
    pub(in super::super) fn requeue(&mut self, key: K, now: Instant) {
        self.add_due(now);
        if self.shut_down {
            return;
        }
        let priority = self.continue_later(&key);
        self.insert(key, priority, now, None);
    }

    /// Records that the worker which holds `key` found something to write.
    pub(in super::super) fn needs_write(&mut self, key: &K) {
        if let Some(change) = self.processing.get_mut(key).and_then(|processing| processing.change.as_mut()) {
            change.needs_write = true;
        }
    }

    /// Ends the change that the worker holds, unless the rest of it is left to the next hand-out. Returns the time at which
    /// it was seen if it had to be written.
    pub(in super::super) fn written(&mut self, key: &K) -> Option<Instant> {
        let processing = self.processing.get_mut(key)?;
        let change = processing.change.take()?;
        if !processing.continues {
            return change.needs_write.then_some(change.since);
        }
        match self.dirty.get_mut(key) {
            Some(again) => again.change = merged(again.change, Some(change)),
            None if self.delays.get(Wait::Turn, key).is_some() => {
                self.delays.merge_change(Wait::Turn, key, change);
            }
            None => self.delays.merge_change(Wait::Add, key, change),
        }
        None
    }

    /// The time at which the oldest change was seen that has not been written. O(n) in the number of keys.
    pub(in super::super) fn oldest_change(&self) -> Option<Instant> {
        let held = self.processing.values().filter_map(|processing| processing.change);
        let dirty = self.dirty.values().filter_map(|again| again.change);
        let changes = self.ready.changes().chain(self.delays.changes()).chain(held).chain(dirty);
        changes.map(|change| change.since).min()
    }

    /// Leaves the rest of a change to the next hand-out. Returns the priority of the present one.
    fn continue_later(&mut self, key: &K) -> Priority {
        let Some(processing) = self.processing.get_mut(key) else { return Priority::Normal };
        processing.continues = true;
        processing.priority
    }
}
