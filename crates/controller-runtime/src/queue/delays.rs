//! The keys that wait for their time.

use std::collections::BTreeMap;
use std::time::Instant;

use super::core::{Map, QueueKey};

/// An agenda in which a key has at most one entry. Keys due at the same instant come out in the order they came in.
#[derive(Debug)]
pub(super) struct Delays<K> {
    by_key: Map<K, Delay>,
    by_deadline: BTreeMap<(Instant, u64), K>,
    tickets: u64,
}

/// When a key is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delay {
    pub(super) deadline: Instant,
    /// The delay is a retry's and holds a token of the shared bucket.
    pub(super) holds_token: bool,
    ticket: u64,
}

impl<K: QueueKey> Delays<K> {
    pub(super) fn new() -> Self {
        Self { by_key: Map::default(), by_deadline: BTreeMap::new(), tickets: 0 }
    }

    pub(super) fn get(&self, key: &K) -> Option<Delay> {
        self.by_key.get(key).copied()
    }

    pub(super) fn earliest(&self) -> Option<Instant> {
        self.by_deadline.first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// Sets the deadline of `key`, whatever it was before. O(log n).
    pub(super) fn set(&mut self, key: K, deadline: Instant, holds_token: bool) {
        let ticket = self.tickets;
        self.tickets += 1;
        if let Some(old) = self.by_key.insert(key.clone(), Delay { deadline, holds_token, ticket }) {
            self.by_deadline.remove(&(old.deadline, old.ticket));
        }
        self.by_deadline.insert((deadline, ticket), key);
    }

    /// Takes one key whose deadline is not after `now`, with the deadline. O(log n).
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<(K, Instant)> {
        let entry = self.by_deadline.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((deadline, _), key) = entry.remove_entry();
        self.by_key.remove(&key);
        Some((key, deadline))
    }

    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        self.by_key.is_empty() && self.by_deadline.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.by_key.clear();
        self.by_key.shrink_to_fit();
        self.by_deadline.clear();
    }
}
