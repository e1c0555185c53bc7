//! The state of a work queue and everything that can happen to it: no lock, no clock, no `await`.
//!
//! Time comes in as an argument, and what is to be woken goes out as a value, so that the asynchronous shell, the
//! thread explorer and the model test all run the very same code.
//!
//! ```text
//!                     add ────────────────────────┐
//! add_after, retry ─> delays ── due ─────────────┤
//!                                                 v          next             done
//!                                  ┌───────── lanes (FIFO) ───────> processing ──────> gone
//!                                  │                                     │
//!                                  └──────────── done ── again <── add ──┘
//! ```

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use super::delays::{Delay, Delays, Wait};
use super::lanes::{Lanes, Priority};
use super::limit::{Cause, Limiter, RateLimit, Retry};

/// Hash tables whose order is never looked at.
pub(super) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// What a work queue can hold: anything cheap to clone that names a thing to be synced.
pub trait QueueKey: Clone + Eq + Hash + Debug + Send + 'static {}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> QueueKey for K {}

/// Delays beyond this are cut to it: no `Instant` overflows, and nobody lives to see the difference.
const LONGEST_DELAY: Duration = Duration::from_hours(30 * 365 * 24);

/// `now + delay` that cannot overflow.
pub(super) fn later(now: Instant, delay: Duration) -> Instant {
    now.checked_add(delay.min(LONGEST_DELAY)).unwrap_or(now)
}

/// A key whose turn has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ready<K> {
    pub(super) key: K,
    /// When it was added (for a delayed add: when it was due).
    pub(super) since: Instant,
}

/// What a worker in search of work finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<K> {
    /// A key to process, to be reported with [`Core::done`].
    Ready(Ready<K>),
    /// Nothing yet: sleep until told.
    Wait,
    /// Nothing yet: sleep until told, or until this deadline at the latest. The worker is now the deadline_waiter.
    WaitUntil(Instant),
    /// Nothing, for ever.
    Closed,
}

/// Whom to wake after a change. What is not set needs no waking.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent of each other: who, not which state")]
pub(super) struct Wake {
    /// One idle worker.
    pub(super) worker: bool,
    /// The worker that sleeps until the earliest deadline.
    pub(super) deadline_waiter: bool,
    /// All idle workers: the queue is closed.
    pub(super) all_workers: bool,
    /// Whoever waits for the queue to be drained.
    pub(super) drained: bool,
}

/// The part of the state from which [`Wake`] is derived, and the counts that go into metrics.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueState {
    /// Keys that became dirty, ever.
    pub(super) adds: u64,
    /// Delayed adds asked for, ever.
    pub(super) retries: u64,
    /// Dirty keys: in a priority, or to be processed again.
    pub(super) depth: usize,
    /// Places given or taken in the lanes, ever.
    moves: u64,
    ready: bool,
    earliest: Option<Instant>,
    deadline_waiter: bool,
    phase: Phase,
}

/// How far the end of the queue has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// There are keys to hand out, or there may yet be.
    Open,
    /// Shut down, and nothing left to hand out, not even once a worker is done with what it holds.
    Closed,
    /// And no worker holds anything.
    Drained,
}

/// A hand-out that is not over.
#[derive(Debug)]
struct InHand {
    since: Instant,
    priority: Priority,
    /// Waits with lower tickets were asked for before the hand-out.
    ticket: u64,
}

/// The state machine.
///
/// Every operation first lets in the delayed keys that are due at its `now`, so the outcome does not depend on who
/// happened to look at the clock. `now` should not go backwards; if it does, nothing is lost, only late.
#[derive(Debug)]
pub(super) struct Core<K> {
    lanes: Lanes<K>,
    /// Keys in the hands of a worker.
    processing: Map<K, InHand>,
    /// Keys added while a worker holds them.
    again: Map<K, (Priority, Instant)>,
    delays: Delays<K>,
    limiter: Limiter<K>,
    shut_down: bool,
    /// A worker sleeps until the earliest deadline on behalf of all.
    deadline_waiter: bool,
    adds: u64,
    retries: u64,
    moves: u64,
}

impl<K: QueueKey> Core<K> {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self {
            lanes: Lanes::new(),
            processing: Map::default(),
            again: Map::default(),
            delays: Delays::new(),
            limiter: Limiter::new(limit),
            shut_down: false,
            deadline_waiter: false,
            adds: 0,
            retries: 0,
            moves: 0,
        }
    }

    pub(super) fn add(&mut self, key: K, priority: Priority, now: Instant) {
        self.let_in_due(now);
        if !self.shut_down {
            self.insert(key, priority, now);
        }
    }

    pub(super) fn requeue(&mut self, key: K, now: Instant) {
        let priority = self.processing.get(&key).map_or(Priority::Normal, |in_hand| in_hand.priority);
        self.add(key, priority, now);
    }

    /// Moves a key from the background to the live priority; nothing happens to any other.
    pub(super) fn promote(&mut self, key: &K, now: Instant) {
        self.let_in_due(now);
        if self.lanes.is_low_priority(key) {
            self.lanes.push(key.clone(), Priority::Normal, now);
        }
    }

    pub(super) fn is_low_priority(&self, key: &K) -> bool {
        self.lanes.is_low_priority(key)
    }

    pub(super) fn add_after(&mut self, key: K, priority: Priority, delay: Duration, now: Instant) {
        self.let_in_due(now);
        if self.shut_down {
            return;
        }
        self.retries += 1;
        if delay.is_zero() {
            return self.insert(key, priority, now);
        }
        let deadline = later(now, delay);
        match self.delays.get(Wait::Add, &key) {
            Some(old) if old.deadline <= deadline && priority <= old.priority => {}
            Some(old) => {
                self.delays.set(
                    Wait::Add,
                    key,
                    old.deadline.min(deadline),
                    old.priority.max(priority),
                    false,
                );
            }
            None => self.delays.set(Wait::Add, key, deadline, priority, false),
        }
    }

    /// A token is only taken for a retry that this call really schedules, and a retry that an earlier one replaces
    /// gives its token back. So at most as many tokens are out as keys wait, however often live changes make a
    /// failing key fail between its retries.
    pub(super) fn retry(&mut self, key: K, causes: &[Cause], now: Instant) {
        self.let_in_due(now);
        if self.shut_down {
            return;
        }
        self.retries += 1;
        let Retry { delay, priority, takes_token } = self.limiter.retry(&key, causes, now);
        let deadline = later(now, delay);
        match self.delays.get(Wait::Retry, &key) {
            Some(Delay { deadline: earlier, priority, holds_token, .. }) if earlier <= deadline => {
                // Asked for anew, so that the success of an older sync doesn't end it.
                return self.delays.set(Wait::Retry, key, earlier, priority, holds_token);
            }
            Some(_) => self.cancel_retry(&key),
            None => {}
        }
        let holds_token = takes_token && self.limiter.take_token(now);
        if delay.is_zero() {
            return self.insert(key, priority, now);
        }
        self.delays.set(Wait::Retry, key, deadline, priority, holds_token);
    }

    /// A retry that was asked for since the key was handed out is of something newer than what succeeded, and stays.
    pub(super) fn forget(&mut self, key: &K, now: Instant) {
        self.let_in_due(now);
        self.limiter.forget(key);
        let handed_out = self.processing.get(key).map(|in_hand| in_hand.ticket);
        let retry = self.delays.get(Wait::Retry, key);
        if retry.is_some_and(|retry| handed_out.is_none_or(|ticket| retry.ticket < ticket)) {
            self.cancel_retry(key);
        }
    }

    pub(super) fn failures(&self, key: &K) -> u32 {
        self.limiter.failures(key)
    }

    /// Looks for work on behalf of a worker that is the deadline_waiter or not (`waits_for_deadline`, as last told by
    /// [`Next::WaitUntil`]). A deadline_waiter that is told anything else no longer is.
    pub(super) fn next(&mut self, waits_for_deadline: bool, now: Instant) -> Next<K> {
        self.let_in_due(now);
        if waits_for_deadline {
            self.deadline_waiter = false;
        }
        if let Some((ready, priority)) = self.lanes.pop() {
            self.moves += 1;
            let in_hand = InHand { since: now, priority, ticket: self.delays.next_ticket() };
            self.processing.insert(ready.key.clone(), in_hand);
            return Next::Ready(ready);
        }
        if self.phase() > Phase::Open {
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

    /// The deadline_waiter has left without looking for work again.
    pub(super) fn remove_deadline_waiter(&mut self) {
        self.deadline_waiter = false;
    }

    /// A worker is through with `key`. Returns how long it held it.
    pub(super) fn done(&mut self, key: &K, now: Instant) -> Duration {
        self.let_in_due(now);
        let since = self.processing.remove(key).map_or(now, |in_hand| in_hand.since);
        if let Some((key, (priority, since))) = self.again.remove_entry(key) {
            self.moves += 1;
            self.lanes.push(key, priority, since);
        }
        now.saturating_duration_since(since)
    }

    pub(super) fn shut_down(&mut self, now: Instant) {
        self.let_in_due(now);
        self.shut_down = true;
        self.delays.clear();
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// Shut down, and every key has been processed.
    pub(super) fn is_drained(&self) -> bool {
        self.phase() == Phase::Drained
    }

    /// Keys that could be handed out now.
    pub(super) fn len(&mut self, now: Instant) -> usize {
        self.let_in_due(now);
        self.lanes.len()
    }

    /// For how long the keys in workers' hands have been there.
    pub(super) fn in_flight(&self, now: Instant) -> impl Iterator<Item = Duration> {
        self.processing.values().map(move |in_hand| now.saturating_duration_since(in_hand.since))
    }

    pub(super) fn state(&self) -> QueueState {
        QueueState {
            adds: self.adds,
            retries: self.retries,
            depth: self.lanes.len() + self.again.len(),
            moves: self.moves,
            ready: self.lanes.len() > 0,
            earliest: self.delays.earliest(),
            deadline_waiter: self.deadline_waiter,
            phase: self.phase(),
        }
    }

    #[cfg(test)]
    pub(super) fn earliest_deadline(&self) -> Option<Instant> {
        self.delays.earliest()
    }

    /// No trace of any key.
    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        self.lanes.is_blank()
            && self.processing.is_empty()
            && self.again.is_empty()
            && self.delays.is_blank()
            && self.limiter.is_blank()
    }

    fn phase(&self) -> Phase {
        match (self.shut_down && self.lanes.len() == 0 && self.again.is_empty(), self.processing.is_empty()) {
            (false, _) => Phase::Open,
            (true, false) => Phase::Closed,
            (true, true) => Phase::Drained,
        }
    }

    fn let_in_due(&mut self, now: Instant) {
        while let Some((key, delay)) = self.delays.pop_due(now) {
            self.insert(key, delay.priority, delay.deadline);
        }
    }

    fn insert(&mut self, key: K, priority: Priority, now: Instant) {
        let new = if self.processing.contains_key(&key) {
            let mut new = false;
            let again = self.again.entry(key).or_insert_with(|| {
                new = true;
                (priority, now)
            });
            again.0 = again.0.max(priority);
            new
        } else {
            let new = self.lanes.push(key, priority, now);
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

impl QueueState {
    /// Whom to wake, now that `self` has become `after`.
    ///
    /// Derived from the states rather than decided by each operation, so that no operation can forget someone.
    ///
    /// Waking one worker is enough for any number of keys. It either takes one, which is a move and wakes the next if
    /// there still is something to see to; or it finds nothing to take, and then no deadline is unattended either,
    /// because it attends to it.
    pub(super) fn wake(&self, after: &Self) -> Wake {
        let earlier = after.earliest.is_some_and(|new| self.earliest.is_none_or(|old| new < old));
        let unattended = after.earliest.is_some() && !after.deadline_waiter;
        let changed =
            after.moves != self.moves || (self.deadline_waiter && !after.deadline_waiter) || earlier;
        Wake {
            worker: (after.ready || unattended) && changed,
            deadline_waiter: earlier && after.deadline_waiter,
            all_workers: after.phase > Phase::Open && self.phase == Phase::Open,
            drained: after.phase == Phase::Drained && self.phase < Phase::Drained,
        }
    }
}
