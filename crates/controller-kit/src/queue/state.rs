//! The observable state of a queue, and the wake-ups that follow from a change of it.

use std::time::Instant;

/// The part of the state from which [`Wake`] is derived, and the counts behind the metrics.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueState {
    /// Keys that became dirty, ever.
    pub(super) adds: u64,
    /// Delayed adds, ever.
    pub(super) retries: u64,
    /// Dirty keys: ready, or added while processing.
    pub(super) depth: usize,
    /// Changes of the ready keys, ever.
    pub(super) moves: u64,
    /// True if a key is ready.
    pub(super) ready: bool,
    /// The earliest deadline of a delayed key.
    pub(super) earliest: Option<Instant>,
    /// True if an idle worker sleeps until the earliest deadline.
    pub(super) deadline_waiter: bool,
    /// True if a worker waits for a key, and no key is ready or held. Keys may be delayed.
    pub(super) resting: bool,
    pub(super) phase: Phase,
}

/// The progress of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Keys are ready or may become so.
    Open,
    /// Shut down; no key is ready or will be.
    Closed,
}

/// The tasks to wake after a change. A task that is not set needs no waking.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent of each other: tasks, not states")]
pub(super) struct Wake {
    /// One idle worker.
    pub(super) worker: bool,
    /// The worker that sleeps until the earliest deadline.
    pub(super) deadline_waiter: bool,
    /// All idle workers: the queue is closed.
    pub(super) all_workers: bool,
    /// The tasks that wait for the queue to be idle.
    pub(super) resting: bool,
}

impl QueueState {
    /// The tasks to wake when the state has changed from `self` to `after`.
    ///
    /// Derived from the two states instead of decided by each operation, so that no operation can forget a task.
    ///
    /// Waking one worker is enough for any number of keys. If it takes a key, that is a change of the ready keys, which
    /// wakes the next worker if keys or a deadline are left; if it finds no key, it becomes the deadline waiter itself.
    pub(super) fn wake(&self, after: &Self) -> Wake {
        let earlier = after.earliest.is_some_and(|new| self.earliest.is_none_or(|old| new < old));
        let unattended = after.earliest.is_some() && !after.deadline_waiter;
        let changed =
            after.moves != self.moves || (self.deadline_waiter && !after.deadline_waiter) || earlier;
        Wake {
            worker: (after.ready || unattended) && changed,
            deadline_waiter: earlier && after.deadline_waiter,
            all_workers: after.phase == Phase::Closed && self.phase == Phase::Open,
            resting: after.resting && !self.resting,
        }
    }
}
