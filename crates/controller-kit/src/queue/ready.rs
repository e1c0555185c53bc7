//! The keys that wait for a worker.

use std::collections::VecDeque;
use std::time::Instant;

use super::key::{KEPT_CAPACITY, Map, QueueKey};
use super::priority::{NORMAL_PER_LOW, Priority};
use super::unwritten::{Unwritten, merged};

/// A key whose turn has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ready<K> {
    pub(super) key: K,
    /// The time at which it was added (for a delayed add: at which it was due).
    pub(super) since: Instant,
}

/// One FIFO for each priority. A key has at most one current entry.
///
/// The entry that a promoted key leaves in the other FIFO is recognised by its outdated sequence number. Such entries
/// are skipped at the head, and removed when they are the majority. So every operation is O(1), amortised.
#[derive(Debug)]
pub(super) struct ReadyKeys<K> {
    entries: Map<K, Entry>,
    normal: VecDeque<K>,
    low: VecDeque<(u64, K)>,
    /// Outdated entries in `low`.
    outdated: usize,
    /// Keys of normal priority handed out since a key of low priority is at the head.
    normal_in_a_row: u32,
    next_sequence: u64,
}

#[derive(Debug)]
struct Entry {
    priority: Priority,
    since: Instant,
    sequence: u64,
    change: Option<Unwritten>,
}

impl<K: QueueKey> ReadyKeys<K> {
    pub(super) fn new() -> Self {
        Self {
            entries: Map::default(),
            normal: VecDeque::new(),
            low: VecDeque::new(),
            outdated: 0,
            normal_in_a_row: 0,
            next_sequence: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Appends `key` to the FIFO of `priority`, or promotes it to that priority.
    ///
    /// Returns whether the key was not queued before.
    pub(super) fn push(
        &mut self,
        key: K,
        priority: Priority,
        since: Instant,
        change: Option<Unwritten>,
    ) -> bool {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.change = merged(entry.change, change);
            if entry.priority < priority {
                entry.priority = priority;
                self.normal.push_back(key);
                self.outdated += 1;
                self.sweep();
            }
            return false;
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        match priority {
            Priority::Normal => self.normal.push_back(key.clone()),
            Priority::Low => self.low.push_back((sequence, key.clone())),
        }
        self.entries.insert(key, Entry { priority, since, sequence, change });
        true
    }

    /// The time since which a key has been ready, and its change.
    pub(super) fn get(&self, key: &K) -> Option<(Instant, Option<Unwritten>)> {
        self.entries.get(key).map(|entry| (entry.since, entry.change))
    }

    pub(super) fn is_low_priority(&self, key: &K) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.priority == Priority::Low)
    }

    /// The changes of the keys, in no order.
    pub(super) fn changes(&self) -> impl Iterator<Item = Unwritten> {
        self.entries.values().filter_map(|entry| entry.change)
    }

    /// Takes the next key: normal before low, but of nine keys at least one low if there is one.
    pub(super) fn pop(&mut self) -> Option<(Ready<K>, Priority, Option<Unwritten>)> {
        let low_waits = self.low.len() > self.outdated;
        let take_low = low_waits && (self.normal.is_empty() || self.normal_in_a_row >= NORMAL_PER_LOW);
        let key = if take_low { self.pop_low() } else { self.normal.pop_front() }?;
        self.normal_in_a_row = if take_low || !low_waits { 0 } else { self.normal_in_a_row + 1 };
        let entry = self.entries.remove(&key)?;
        if self.entries.is_empty() {
            self.shrink();
        }
        Some((Ready { key, since: entry.since }, entry.priority, entry.change))
    }

    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        self.entries.is_empty() && self.normal.is_empty() && self.low.is_empty() && self.outdated == 0
    }

    fn pop_low(&mut self) -> Option<K> {
        while let Some((sequence, key)) = self.low.pop_front() {
            if is_current(&self.entries, sequence, &key) {
                return Some(key);
            }
            self.outdated -= 1;
        }
        None
    }

    fn sweep(&mut self) {
        if self.outdated * 2 > self.low.len() {
            let entries = &self.entries;
            self.low.retain(|(sequence, key)| is_current(entries, *sequence, key));
            self.outdated = 0;
        }
    }

    fn shrink(&mut self) {
        self.low.clear();
        self.outdated = 0;
        self.entries.shrink_to(KEPT_CAPACITY);
        self.normal.shrink_to(KEPT_CAPACITY);
        self.low.shrink_to(KEPT_CAPACITY);
    }
}

fn is_current<K: QueueKey>(entries: &Map<K, Entry>, sequence: u64, key: &K) -> bool {
    entries.get(key).is_some_and(|entry| entry.priority == Priority::Low && entry.sequence == sequence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotions_leave_no_growing_trail() {
        let now = Instant::now();
        let mut ready = ReadyKeys::new();
        for waiting in 0..100 {
            ready.push(waiting, Priority::Low, now, None);
        }
        for round in 0..10_000_u32 {
            ready.push(1_000, Priority::Low, now, None);
            ready.push(1_000, Priority::Normal, now, None);
            // put back what the fairness rule lets through, so that the low FIFO never gets shorter
            loop {
                let key = ready.pop().unwrap().0.key;
                if key == 1_000 {
                    break;
                }
                ready.push(key, Priority::Low, now, None);
            }
            assert!(ready.low.len() <= 2 * 101, "{} entries in round {round}", ready.low.len());
        }
        assert_eq!(ready.len(), 100);
        while ready.pop().is_some() {}
        assert!(ready.is_blank());
        assert!(ready.low.capacity() <= 2 * KEPT_CAPACITY, "memory of the backlog is given back");
    }
}
