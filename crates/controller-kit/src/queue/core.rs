//! The state machine of a work queue: no lock, no clock, no `await`.
//!
//! Time is an argument, and the tasks to wake are a value, so that the asynchronous queue, the thread explorer and the
//! model test run the same code.
//!
//! ```text
//!                     add ────────────────────────┐
//! add_after, retry ─> delays ── due ─────────────┤
//!                                                 v          next             done
//!                                  ┌───────── ready (FIFO) ───────> processing ──────> gone
//!                                  │                                     │
//!                                  └──────────── done ── dirty <── add ──┘
//! ```

mod changes;
mod inspect;

use std::time::{Duration, Instant};

use super::cause::{Cause, FailureReason};
use super::delays::{Delay, Delays, Wait};
use super::key::{Map, QueueKey};
use super::limiter::{Limiter, Retry};
use super::priority::Priority;
use super::rate_limit::RateLimit;
use super::ready::{Ready, ReadyKeys};
use super::state::{Phase, QueueState};
use super::unwritten::{Unwritten, merged};

/// The longest delay (30 years); longer ones are cut to it, so that no `Instant` overflows.
const LONGEST_DELAY: Duration = Duration::from_hours(30 * 365 * 24);

/// `now + delay` without overflow.
pub(super) fn later(now: Instant, delay: Duration) -> Instant {
    now.checked_add(delay.min(LONGEST_DELAY)).unwrap_or(now)
}

/// The answer to a worker that asks for a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<K> {
    /// A key to process, to be reported with [`Core::done`].
    Ready(Ready<K>),
    /// No key: sleep until woken.
    Wait,
    /// No key: sleep until woken, or until this deadline. The worker is now the deadline waiter.
    WaitUntil(Instant),
    /// No key, and none will come.
    Closed,
}

/// A key that a worker holds.
#[derive(Debug)]
struct Processing {
    since: Instant,
    priority: Priority,
    /// Waits with lower sequence numbers began before the worker got the key.
    sequence: u64,
    /// The change that the worker is to write.
    change: Option<Unwritten>,
    /// True if the rest of the change is left to the next hand-out.
    continues: bool,
}

/// An add of a key that a worker holds.
#[derive(Debug)]
struct Again {
    priority: Priority,
    since: Instant,
    change: Option<Unwritten>,
}

/// The state machine.
///
/// Every operation first adds the delayed keys that are due at its `now`, so the outcome does not depend on which
/// worker reads the clock. `now` should not go backwards; if it does, keys are late but not lost.
#[derive(Debug)]
pub(super) struct Core<K> {
    ready: ReadyKeys<K>,
    /// Keys that workers hold.
    processing: Map<K, Processing>,
    /// Keys added while a worker holds them.
    dirty: Map<K, Again>,
    delays: Delays<K>,
    limiter: Limiter<K>,
    shut_down: bool,
    /// True if an idle worker sleeps until the earliest deadline, for all of them.
    deadline_waiter: bool,
    /// The number of idle workers, the deadline waiter included.
    waiting: usize,
    adds: u64,
    retries: u64,
    moves: u64,
}

impl<K: QueueKey> Core<K> {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self {
            ready: ReadyKeys::new(),
            processing: Map::default(),
            dirty: Map::default(),
            delays: Delays::new(),
            limiter: Limiter::new(limit),
            shut_down: false,
            deadline_waiter: false,
            waiting: 0,
            adds: 0,
            retries: 0,
            moves: 0,
        }
    }

    /// Adds a key because of a change that was seen now.
    pub(super) fn add(&mut self, key: K, priority: Priority, now: Instant) {
        self.add_seen_at(now, key, priority, now);
    }

    pub(super) fn add_seen_at(&mut self, seen: Instant, key: K, priority: Priority, now: Instant) {
        self.add_due(now);
        if !self.shut_down {
            self.insert(key, priority, now, Some(Unwritten::seen(seen)));
        }
    }

    /// Raises the priority of a ready key.
    pub(super) fn promote(&mut self, key: &K, now: Instant) {
        self.add_due(now);
        if self.ready.is_low_priority(key) {
            self.ready.push(key.clone(), Priority::Normal, now, None);
        }
    }

    pub(super) fn is_low_priority(&self, key: &K) -> bool {
        self.ready.is_low_priority(key)
    }

    /// Adds a key after `delay` because of a change that was seen now.
    pub(super) fn add_after(&mut self, key: K, priority: Priority, delay: Duration, now: Instant) {
        self.add_later(key, priority, delay, Some(Unwritten::seen(now)), now);
    }

    fn add_later(
        &mut self,
        key: K,
        priority: Priority,
        delay: Duration,
        change: Option<Unwritten>,
        now: Instant,
    ) {
        self.add_due(now);
        if self.shut_down {
            return;
        }
        self.retries += 1;
        if delay.is_zero() {
            return self.insert(key, priority, now, change);
        }
        let deadline = later(now, delay);
        match self.delays.get(Wait::Add, &key) {
            Some(old) if old.deadline <= deadline && priority <= old.priority => {
                if let (None, Some(change)) = (old.change, change) {
                    self.delays.merge_change(Wait::Add, &key, change);
                }
            }
            Some(old) => {
                let (deadline, priority) = (old.deadline.min(deadline), old.priority.max(priority));
                let delay = Delay::new(deadline, priority, merged(old.change, change));
                self.delays.set(Wait::Add, key, delay);
            }
            None => self.delays.set(Wait::Add, key, Delay::new(deadline, priority, change)),
        }
    }

    /// Takes a token only if this call schedules a retry, and returns the token of a retry that an earlier one
    /// replaces. So there are never more tokens taken than keys waiting, however often changes make a key fail between
    /// its retries.
    pub(super) fn retry(&mut self, key: K, causes: &[Cause], now: Instant) {
        self.add_due(now);
        if self.shut_down {
            return;
        }
        self.retries += 1;
        let Retry { delay, priority, takes_token } = self.limiter.retry(&key, causes, now);
        let deadline = later(now, delay);
        let mut change = self.processing.get_mut(&key).and_then(|processing| processing.change.take());
        match self.delays.get(Wait::Retry, &key) {
            Some(old) if old.deadline <= deadline => {
                // Renews the sequence number, so that the success of an older sync doesn't end it.
                let delay = Delay { change: merged(old.change, change), ..old };
                return self.delays.set(Wait::Retry, key, delay);
            }
            Some(old) => {
                change = merged(old.change, change);
                self.cancel_retry(&key);
            }
            None => {}
        }
        let holds_token = takes_token && self.limiter.take_token(now);
        if delay.is_zero() {
            return self.insert(key, priority, now, change);
        }
        let delay = Delay { holds_token, ..Delay::new(deadline, priority, change) };
        self.delays.set(Wait::Retry, key, delay);
    }

    /// Cancels the retry unless it was requested after the worker got the key: such a retry is newer than this success.
    pub(super) fn forget(&mut self, key: &K, now: Instant) {
        self.add_due(now);
        self.limiter.forget(key);
        let handed_out = self.processing.get(key).map(|processing| processing.sequence);
        let retry = self.delays.get(Wait::Retry, key);
        if retry.is_some_and(|retry| handed_out.is_none_or(|sequence| retry.sequence < sequence)) {
            self.cancel_retry(key);
        }
    }

    /// The keys whose last sync failed, and the reason; none of a key that only conflicted.
    pub(super) fn failing(&self) -> impl Iterator<Item = (&K, Option<FailureReason>)> {
        self.limiter.failing()
    }

    /// The keys whose plan waits for its turn, and its urgency.
    pub(super) fn waiting_to_write(&self) -> impl Iterator<Item = (&K, &'static str)> {
        self.delays.turns()
    }

    pub(super) fn failures(&self, key: &K) -> u32 {
        self.limiter.failures(key)
    }

    /// Takes the next key for a worker. `is_deadline_waiter` says whether it is the deadline waiter by its last answer
    /// ([`Next::WaitUntil`]); with any other answer it ceases to be.
    pub(super) fn next(&mut self, is_deadline_waiter: bool, now: Instant) -> Next<K> {
        self.add_due(now);
        if is_deadline_waiter {
            self.deadline_waiter = false;
        }
        if let Some((ready, priority, change)) = self.ready.pop() {
            self.moves += 1;
            // The sync reads what is delayed as well.
            let delayed = self.delays.take_change(Wait::Add, &ready.key);
            let failed = self.delays.take_change(Wait::Retry, &ready.key);
            let parked = self.delays.take_change(Wait::Turn, &ready.key);
            let change = merged(merged(change, parked), merged(delayed, failed));
            let sequence = self.delays.next_sequence();
            let processing = Processing { since: now, priority, sequence, change, continues: false };
            self.processing.insert(ready.key.clone(), processing);
            return Next::Ready(ready);
        }
        if self.phase() == Phase::Closed {
            return Next::Closed;
        }
        match self.delays.earliest() {
            Some(deadline) if !self.deadline_waiter => {
                self.deadline_waiter = true;
                Next::WaitUntil(deadline)
            }
            _ => Next::Wait,
        }
    }

    /// The deadline waiter is gone.
    pub(super) fn remove_deadline_waiter(&mut self) {
        self.deadline_waiter = false;
    }

    /// A worker has begun or ceased to wait for a key.
    pub(super) fn count_waiting(&mut self, waits: bool) {
        self.waiting = if waits { self.waiting + 1 } else { self.waiting.saturating_sub(1) };
    }

    /// The keys of an idle queue: those that wait for a retry and have failed `patience` times in a row. None if the queue
    /// has other keys, or no worker. O(n) in the number of delayed keys.
    pub(super) fn idle(&self, patience: u32) -> Option<Vec<K>> {
        let fails = |(wait, key): (Wait, &K)| {
            (wait == Wait::Retry && self.failures(key) >= patience).then(|| key.clone())
        };
        if self.is_resting() { self.delays.keys().map(fails).collect() } else { None }
    }

    /// The number of adds and delayed adds, ever.
    pub(super) fn activity(&self) -> u64 {
        self.adds + self.retries
    }

    /// True if a worker waits for a key, and no key is ready or held.
    fn is_resting(&self) -> bool {
        let keys = self.ready.len() + self.dirty.len() + self.processing.len();
        self.waiting > 0 && keys == 0
    }

    /// Ends the processing of `key`. Returns how long it took.
    pub(super) fn done(&mut self, key: &K, now: Instant) -> Duration {
        self.add_due(now);
        let since = self.processing.remove(key).map_or(now, |processing| processing.since);
        if let Some((key, Again { priority, since, change })) = self.dirty.remove_entry(key) {
            self.moves += 1;
            self.ready.push(key, priority, since, change);
        }
        now.saturating_duration_since(since)
    }

    pub(super) fn shut_down(&mut self, now: Instant) {
        self.add_due(now);
        self.shut_down = true;
        self.delays.clear();
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// The number of ready keys.
    pub(super) fn len(&mut self, now: Instant) -> usize {
        self.add_due(now);
        self.ready.len()
    }

    /// The time for which each key has been processed so far.
    pub(super) fn running(&self, now: Instant) -> impl Iterator<Item = Duration> {
        self.processing.values().map(move |processing| now.saturating_duration_since(processing.since))
    }

    pub(super) fn state(&self) -> QueueState {
        QueueState {
            adds: self.adds,
            retries: self.retries,
            depth: self.ready.len() + self.dirty.len(),
            moves: self.moves,
            ready: self.ready.len() > 0,
            earliest: self.delays.earliest(),
            deadline_waiter: self.deadline_waiter,
            resting: self.is_resting(),
            phase: self.phase(),
        }
    }

    #[cfg(test)]
    pub(super) fn earliest_deadline(&self) -> Option<Instant> {
        self.delays.earliest()
    }

    /// True if nothing is stored about any key.
    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        self.ready.is_blank()
            && self.processing.is_empty()
            && self.dirty.is_empty()
            && self.delays.is_blank()
            && self.limiter.is_blank()
    }

    fn phase(&self) -> Phase {
        let is_closed = self.shut_down && self.ready.len() == 0 && self.dirty.is_empty();
        if is_closed { Phase::Closed } else { Phase::Open }
    }

    fn add_due(&mut self, now: Instant) {
        while let Some((key, delay)) = self.delays.pop_due(now) {
            self.insert(key, delay.priority, delay.deadline, delay.change);
        }
    }

    fn insert(&mut self, key: K, priority: Priority, now: Instant, change: Option<Unwritten>) {
        let new = if self.processing.contains_key(&key) {
            let mut new = false;
            let again = self.dirty.entry(key).or_insert_with(|| {
                new = true;
                Again { priority, since: now, change: None }
            });
            again.priority = again.priority.max(priority);
            again.change = merged(again.change, change);
            new
        } else {
            let new = self.ready.push(key, priority, now, change);
            self.moves += u64::from(new);
            new
        };
        self.adds += u64::from(new);
    }

    fn cancel_retry(&mut self, key: &K) {
        if self.delays.remove(Wait::Retry, key).is_some_and(|retry| retry.holds_token) {
            self.limiter.return_token();
        }
    }
}
