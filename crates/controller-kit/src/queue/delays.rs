//! The keys that wait for their time.

use std::collections::BTreeMap;
use std::time::Instant;

use super::core::{Map, QueueKey};
use super::lanes::Priority;

/// Why a key waits. A key has at most one wait of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Wait {
    /// A delayed add: something changed. Only its deadline ends it.
    Add,
    /// The retry of a sync that failed. A sync that succeeds ends it.
    Retry,
}

/// An agenda of waits. Those due at the same instant come out in the order they came in.
#[derive(Debug)]
pub(super) struct Delays<K> {
    by_key: Map<(Wait, K), Delay>,
    by_deadline: BTreeMap<(Instant, u64), (Wait, K)>,
    tickets: u64,
}

/// When a key is due, and what happens then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delay {
    pub(super) deadline: Instant,
    /// Where the key goes when it is due.
    pub(super) priority: Priority,
    /// The delay is a retry's and holds a token of the shared bucket.
    pub(super) holds_token: bool,
    /// Orders waits by the time at which they were last asked for.
    pub(super) ticket: u64,
}

impl<K: QueueKey> Delays<K> {
    pub(super) fn new() -> Self {
        Self { by_key: Map::default(), by_deadline: BTreeMap::new(), tickets: 0 }
    }

    pub(super) fn get(&self, wait: Wait, key: &K) -> Option<Delay> {
        self.by_key.get(&(wait, key.clone())).copied()
    }

    pub(super) fn earliest(&self) -> Option<Instant> {
        self.by_deadline.first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// The ticket of the next wait: all that wait now have lower ones.
    pub(super) fn next_ticket(&self) -> u64 {
        self.tickets
    }

    /// Sets when `key` is due, whatever it was before. O(log n).
    pub(super) fn set(
        &mut self,
        wait: Wait,
        key: K,
        deadline: Instant,
        priority: Priority,
        holds_token: bool,
    ) {
        let ticket = self.tickets;
        self.tickets += 1;
        self.remove(wait, &key);
        self.by_key.insert((wait, key.clone()), Delay { deadline, priority, holds_token, ticket });
        self.by_deadline.insert((deadline, ticket), (wait, key));
    }

    /// Ends a wait before its deadline. O(log n).
    pub(super) fn remove(&mut self, wait: Wait, key: &K) -> Option<Delay> {
        let delay = self.by_key.remove(&(wait, key.clone()))?;
        self.by_deadline.remove(&(delay.deadline, delay.ticket));
        Some(delay)
    }

    /// Takes one key whose deadline is not after `now`. O(log n).
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<(K, Delay)> {
        let entry = self.by_deadline.first_entry().filter(|entry| entry.key().0 <= now)?;
        let wait = entry.remove();
        let delay = self.by_key.remove(&wait)?;
        Some((wait.1, delay))
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
