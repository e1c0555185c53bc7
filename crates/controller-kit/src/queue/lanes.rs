//! The keys that wait for a worker, in two lanes.

use std::collections::VecDeque;
use std::time::Instant;

use super::core::{Map, QueueKey, Ready};

/// How soon a key is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Work that may wait for changes: initial keys, and retries beyond the shared rate.
    Low,
    /// Something changed in the cluster just now.
    Normal,
}

impl Priority {
    #[doc(hidden)]
    #[allow(
        non_upper_case_globals,
        reason = "the names of the variants until handlers take `is_initial_list`"
    )]
    pub const Live: Self = Self::Normal;
    #[doc(hidden)]
    #[allow(
        non_upper_case_globals,
        reason = "the names of the variants until handlers take `is_initial_list`"
    )]
    pub const Background: Self = Self::Low;
}

/// Of keys in both lanes, so many [`Priority::Normal`] ones are handed out for each [`Priority::Low`] one.
///
/// High enough that a start-up over thousands of Services costs a live change an eighth of the workers' time, low
/// enough that start-up ends although changes never stop.
pub const NORMAL_PER_LOW: u32 = 8;

/// Capacity that an emptied priority keeps: enough for steady state, nothing of what a start-up needed.
const KEPT_CAPACITY: usize = 64;

/// Two FIFOs in which a key has at most one place.
///
/// A promoted key leaves its old place behind, recognisable by its outdated ticket; such places are skipped when they
/// come up and swept out when they are the majority. That makes every operation O(1), amortised.
#[derive(Debug)]
pub(super) struct Lanes<K> {
    places: Map<K, Place>,
    live: VecDeque<K>,
    background: VecDeque<(u64, K)>,
    /// Outdated places in `background`.
    outdated: usize,
    /// Live keys handed out since a background key began to wait at the head.
    passed: u32,
    tickets: u64,
}

#[derive(Debug)]
struct Place {
    priority: Priority,
    since: Instant,
    ticket: u64,
}

impl<K: QueueKey> Lanes<K> {
    pub(super) fn new() -> Self {
        Self {
            places: Map::default(),
            live: VecDeque::new(),
            background: VecDeque::new(),
            outdated: 0,
            passed: 0,
            tickets: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Gives `key` a place at the end of `priority`, or promotes it there from the background.
    ///
    /// Returns whether the key had no place before.
    pub(super) fn push(&mut self, key: K, priority: Priority, since: Instant) -> bool {
        match self.places.get_mut(&key) {
            Some(place) if place.priority < priority => {
                place.priority = priority;
                self.live.push_back(key);
                self.outdated += 1;
                self.sweep();
                false
            }
            Some(_) => false,
            None => {
                let ticket = self.tickets;
                self.tickets += 1;
                match priority {
                    Priority::Normal => self.live.push_back(key.clone()),
                    Priority::Low => self.background.push_back((ticket, key.clone())),
                }
                self.places.insert(key, Place { priority, since, ticket });
                true
            }
        }
    }

    pub(super) fn is_low_priority(&self, key: &K) -> bool {
        self.places.get(key).is_some_and(|place| place.priority == Priority::Low)
    }

    /// Takes the next key: Live before Background, but of nine keys at least one from a Background that has some.
    pub(super) fn pop(&mut self) -> Option<(Ready<K>, Priority)> {
        let background_waits = self.background.len() > self.outdated;
        let turn = background_waits && (self.live.is_empty() || self.passed >= NORMAL_PER_LOW);
        let key = if turn { self.pop_background() } else { self.live.pop_front() }?;
        self.passed = if turn || !background_waits { 0 } else { self.passed + 1 };
        let place = self.places.remove(&key)?;
        if self.places.is_empty() {
            self.shrink();
        }
        Some((Ready { key, since: place.since }, place.priority))
    }

    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        self.places.is_empty() && self.live.is_empty() && self.background.is_empty() && self.outdated == 0
    }

    fn pop_background(&mut self) -> Option<K> {
        while let Some((ticket, key)) = self.background.pop_front() {
            if is_current(&self.places, ticket, &key) {
                return Some(key);
            }
            self.outdated -= 1;
        }
        None
    }

    fn sweep(&mut self) {
        if self.outdated * 2 > self.background.len() {
            let places = &self.places;
            self.background.retain(|(ticket, key)| is_current(places, *ticket, key));
            self.outdated = 0;
        }
    }

    fn shrink(&mut self) {
        self.background.clear();
        self.outdated = 0;
        self.places.shrink_to(KEPT_CAPACITY);
        self.live.shrink_to(KEPT_CAPACITY);
        self.background.shrink_to(KEPT_CAPACITY);
    }
}

fn is_current<K: QueueKey>(places: &Map<K, Place>, ticket: u64, key: &K) -> bool {
    places.get(key).is_some_and(|place| place.priority == Priority::Low && place.ticket == ticket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotions_leave_no_growing_trail() {
        let now = Instant::now();
        let mut lanes = Lanes::new();
        for waiting in 0..100 {
            lanes.push(waiting, Priority::Low, now);
        }
        for round in 0..10_000_u32 {
            lanes.push(1_000, Priority::Low, now);
            lanes.push(1_000, Priority::Normal, now);
            // put back what the fairness rule lets through, so that the background never gets shorter
            loop {
                let key = lanes.pop().unwrap().0.key;
                if key == 1_000 {
                    break;
                }
                lanes.push(key, Priority::Low, now);
            }
            assert!(lanes.background.len() <= 2 * 101, "{} places in round {round}", lanes.background.len());
        }
        assert_eq!(lanes.len(), 100);
        while lanes.pop().is_some() {}
        assert!(lanes.is_blank());
        assert!(lanes.background.capacity() <= 2 * KEPT_CAPACITY, "memory of the backlog is given back");
    }
}
