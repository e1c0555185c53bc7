//! The delayed keys.

use std::collections::BTreeMap;
use std::time::Instant;

use super::key::{Map, QueueKey, shrink_if_empty};
use super::priority::Priority;
use super::unwritten::{Unwritten, merged};

/// The kind of a wait. A key has at most one wait of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// A delayed add. Only its deadline ends it.
    Add,
    /// The retry of a failed sync. A sync that succeeds ends it.
    Retry,
    /// The wait of a planned write for its turn, which ends it.
    Turn,
}

impl Wait {
    const ALL: [Self; 3] = [Self::Add, Self::Retry, Self::Turn];
}

/// The waits by deadline. Waits with equal deadlines end in the order in which they began.
#[derive(Debug)]
pub(super) struct Delays<K> {
    /// Of each kind, so that a kind without waits costs no lookup.
    by_key: [Map<K, Delay>; 3],
    by_deadline: BTreeMap<(Instant, u64), (Wait, K)>,
    next_sequence: u64,
}

/// A wait of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delay {
    pub(super) deadline: Instant,
    /// The priority of the key when it is due.
    pub(super) priority: Priority,
    /// True if this is a retry that holds a token of the shared bucket.
    pub(super) holds_token: bool,
    /// The urgency of a write that waits for its turn.
    pub(super) urgency: Option<&'static str>,
    /// The change that waits.
    pub(super) change: Option<Unwritten>,
    /// Orders waits by the time of the last request for them.
    pub(super) sequence: u64,
}

impl Delay {
    /// A wait without a token.
    pub(super) fn new(deadline: Instant, priority: Priority, change: Option<Unwritten>) -> Self {
        Self { deadline, priority, holds_token: false, urgency: None, change, sequence: 0 }
    }
}

impl<K: QueueKey> Delays<K> {
    pub(super) fn new() -> Self {
        Self {
            by_key: std::array::from_fn(|_| Map::default()),
            by_deadline: BTreeMap::new(),
            next_sequence: 0,
        }
    }

    pub(super) fn get(&self, wait: Wait, key: &K) -> Option<Delay> {
        self.of(wait).get(key).copied()
    }

    /// Takes the change of a wait, which goes on.
    pub(super) fn take_change(&mut self, wait: Wait, key: &K) -> Option<Unwritten> {
        self.of_mut(wait).get_mut(key)?.change.take()
    }

    /// Merges a change into a wait. Does nothing without the wait.
    pub(super) fn merge_change(&mut self, wait: Wait, key: &K, change: Unwritten) {
        if let Some(delay) = self.of_mut(wait).get_mut(key) {
            delay.change = merged(delay.change, Some(change));
        }
    }

    /// The changes of the waits, in no order.
    pub(super) fn changes(&self) -> impl Iterator<Item = Unwritten> {
        self.by_key.iter().flat_map(Map::values).filter_map(|delay| delay.change)
    }

    /// The keys that wait for their turn, with their urgencies, in no order.
    pub(super) fn turns(&self) -> impl Iterator<Item = (&K, &'static str)> {
        self.of(Wait::Turn).iter().filter_map(|(key, delay)| Some((key, delay.urgency?)))
    }

    /// The delayed keys, in no order.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Wait, &K)> {
        Wait::ALL.into_iter().flat_map(|wait| self.of(wait).keys().map(move |key| (wait, key)))
    }

    pub(super) fn earliest(&self) -> Option<Instant> {
        self.by_deadline.first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// The sequence number of the next wait: higher than those of all present waits.
    pub(super) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Begins a wait of `key`, which gets a new sequence number, and replaces its wait of this kind. O(log n).
    pub(super) fn set(&mut self, wait: Wait, key: K, delay: Delay) {
        let delay = Delay { sequence: self.next_sequence, ..delay };
        self.next_sequence += 1;
        self.remove(wait, &key);
        self.of_mut(wait).insert(key.clone(), delay);
        self.by_deadline.insert((delay.deadline, delay.sequence), (wait, key));
    }

    /// Ends a wait before its deadline. O(log n).
    pub(super) fn remove(&mut self, wait: Wait, key: &K) -> Option<Delay> {
        let delay = self.take(wait, key)?;
        self.by_deadline.remove(&(delay.deadline, delay.sequence));
        Some(delay)
    }

    /// Takes a key whose deadline has come. O(log n).
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<(K, Delay)> {
        let entry = self.by_deadline.first_entry().filter(|entry| entry.key().0 <= now)?;
        let (wait, key) = entry.remove();
        let delay = self.take(wait, &key)?;
        Some((key, delay))
    }

    fn take(&mut self, wait: Wait, key: &K) -> Option<Delay> {
        let waits = self.of_mut(wait);
        let delay = waits.remove(key)?;
        shrink_if_empty(waits);
        Some(delay)
    }

    fn of(&self, wait: Wait) -> &Map<K, Delay> {
        let [add, retry, turn] = &self.by_key;
        match wait {
            Wait::Add => add,
            Wait::Retry => retry,
            Wait::Turn => turn,
        }
    }

    fn of_mut(&mut self, wait: Wait) -> &mut Map<K, Delay> {
        let [add, retry, turn] = &mut self.by_key;
        match wait {
            Wait::Add => add,
            Wait::Retry => retry,
            Wait::Turn => turn,
        }
    }

    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        self.by_key.iter().all(Map::is_empty) && self.by_deadline.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.by_key = std::array::from_fn(|_| Map::default());
        self.by_deadline.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::key::KEPT_CAPACITY;
    use super::*;

    #[test]
    fn the_memory_of_an_outage_is_given_back() {
        let now = Instant::now();
        let mut delays = Delays::new();
        for key in 0..10_000 {
            let delay = Delay::new(now + Duration::from_secs(1), Priority::Normal, None);
            delays.set(Wait::Retry, key, delay);
        }
        for key in 0..5_000 {
            assert!(delays.remove(Wait::Retry, &key).is_some());
        }
        while delays.pop_due(now + Duration::from_secs(1)).is_some() {}
        assert!(delays.is_blank());
        assert!(delays.of(Wait::Retry).capacity() <= 2 * KEPT_CAPACITY);
    }
}
