//! The order of waiting keys: no lock, no clock, no `await`.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use super::fair::FairQueue;
use crate::key::ObjectKey;
use crate::queue::LEVELS;

/// The most writes that a key makes in one turn, if others wait: a quarter of a second at client-go's default of 20 a second.
pub(super) const MOST_AT_ONCE: u32 = 5;

/// One turn in so many goes to the key that has waited longest, whatever its urgency.
pub(super) const TURNS_PER_OLDEST: u32 = 10;
/// The wait from which on a key may get such a turn. Sooner, what is least urgent would often be written for nothing, because a
/// more urgent change of the same key follows within seconds.
pub(super) const OLD: Duration = Duration::from_secs(5);

/// The keys that wait for their writes, and those whose turn has come.
#[derive(Debug)]
pub(super) struct Core {
    waiting: HashMap<ObjectKey, Waiting, RandomState>,
    levels: [FairQueue; LEVELS],
    /// The waiting keys by age.
    by_age: BTreeMap<u64, ObjectKey>,
    next_number: u64,
    /// Turns since the last one of the oldest key.
    turns: u32,
    /// Writes whose tokens are taken, of keys whose sync has not made them yet.
    granted: HashMap<ObjectKey, u32, RandomState>,
}

/// A key that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    number: u64,
    pub(super) level: usize,
    writes: u32,
    since: Instant,
    /// The time since which its plans have been as urgent as the last one.
    urgent_since: Instant,
}

/// A turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) key: ObjectKey,
    /// The writes that it is for.
    pub(super) writes: u32,
    pub(super) level: usize,
    /// The time for which the key has waited with plans that are as urgent.
    pub(super) waited: Duration,
}

impl Default for Core {
    fn default() -> Self {
        Self {
            waiting: HashMap::default(),
            levels: std::array::from_fn(|_| FairQueue::default()),
            by_age: BTreeMap::new(),
            next_number: 0,
            turns: 0,
            granted: HashMap::default(),
        }
    }
}

impl Core {
    /// Lets a key wait for this number of writes of a level, 0 being the most urgent. A key that waits already keeps its age.
    pub(super) fn wait(&mut self, key: &ObjectKey, level: usize, writes: u32, now: Instant) {
        let level = level.min(LEVELS.saturating_sub(1));
        let old = self.remove(key);
        let (number, since) = old.map_or((self.next_number, now), |old| (old.number, old.since));
        let urgent_since = old.filter(|old| old.level <= level).map_or(now, |old| old.urgent_since);
        self.next_number = self.next_number.max(number + 1);
        self.waiting.insert(key.clone(), Waiting { number, level, writes, since, urgent_since });
        self.by_age.insert(number, key.clone());
        if let Some(of_level) = self.levels.get_mut(level) {
            of_level.insert(number, key.clone());
        }
    }

    /// Removes a key that waits. What it was granted stays.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Waiting> {
        let waiting = self.waiting.remove(key)?;
        self.by_age.remove(&waiting.number);
        if let Some(of_level) = self.levels.get_mut(waiting.level) {
            of_level.remove(waiting.number, &key.namespace);
        }
        Some(waiting)
    }

    /// True if this key waits.
    #[cfg(test)]
    pub(super) fn waits(&self, key: &ObjectKey) -> bool {
        self.waiting.contains_key(key)
    }

    /// True if no key waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The key whose turn is next, and whether it is by its age alone.
    fn next(&self, now: Instant) -> Option<(&ObjectKey, Waiting, bool)> {
        let is_old = |key: &&ObjectKey| {
            let waiting = self.waiting.get(*key);
            waiting.is_some_and(|waiting| now.saturating_duration_since(waiting.since) >= OLD)
        };
        let oldest = || self.by_age.first_key_value().map(|(_, key)| key).filter(is_old);
        let by_urgency = || self.levels.iter().find_map(FairQueue::first);
        let is_turn_of_oldest = self.turns + 1 >= TURNS_PER_OLDEST;
        let by_age = if is_turn_of_oldest { oldest() } else { None };
        let (key, waiting) = self.waiting.get_key_value(by_age.or_else(by_urgency)?)?;
        Some((key, *waiting, by_age.is_some()))
    }

    /// The writes that the next turn is for: those that its key needs, up to [`MOST_AT_ONCE`] and the limiter's `burst`. None
    /// if no key waits.
    pub(super) fn next_writes(&self, now: Instant, burst: u32) -> Option<u32> {
        self.next(now).map(|(_, waiting, _)| waiting.writes.min(MOST_AT_ONCE).min(burst).max(1))
    }

    /// Takes the next turn, for this number of writes, whose tokens are taken: the key's next sync may make them.
    pub(super) fn grant(&mut self, now: Instant, writes: u32) -> Option<Turn> {
        let (key, waiting, is_by_age) = self.next(now)?;
        let key = key.clone();
        // A turn by age is not at the expense of the namespace's share: it would put off what is urgent there.
        if let Some(of_level) = self.levels.get_mut(waiting.level).filter(|_| !is_by_age) {
            of_level.charge(writes);
        }
        self.remove(&key);
        self.turns = (self.turns + 1) % TURNS_PER_OLDEST;
        *self.granted.entry(key.clone()).or_default() += writes;
        let waited = now.saturating_duration_since(waiting.urgent_since);
        Some(Turn { key, writes, level: waiting.level, waited })
    }

    /// Takes the writes that a key was granted.
    pub(super) fn take_granted(&mut self, key: &ObjectKey) -> Option<u32> {
        self.granted.remove(key)
    }

    /// The number of keys that wait, and the longest time for which one has waited with plans that are as urgent, by level.
    ///
    /// Cost: O(n) in the number of waiting keys.
    pub(super) fn summary(&self, now: Instant) -> [(usize, Duration); LEVELS] {
        let mut summary = [(0, Duration::ZERO); LEVELS];
        for waiting in self.waiting.values() {
            if let Some((count, oldest)) = summary.get_mut(waiting.level) {
                *count += 1;
                *oldest = (*oldest).max(now.saturating_duration_since(waiting.urgent_since));
            }
        }
        summary
    }
}
