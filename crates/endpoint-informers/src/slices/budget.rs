//! The number of writes that one sync may make.

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;

/// The most writes of one sync: two and a half seconds at client-go's default of 20 a second.
pub(crate) const MAX_WRITES: usize = 50;

/// The writes that one sync may still make: [`MAX_WRITES`] at first, and none once the queue is shut down.
///
/// Without a limit, five Services that need hundreds of slices each would occupy all workers for minutes. A sync that
/// doesn't finish its plan requeues its key behind all waiting keys. The next sync plans again, from a cache that must
/// show what was written so far; so nothing is written twice.
#[derive(Debug)]
pub(crate) struct WriteBudget<'a> {
    queue: &'a WorkQueue<ObjectKey>,
    left: usize,
    creates: CreateLimit,
}

/// The slices that one sync may create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CreateLimit {
    left: usize,
    /// Slices count that admission left to us, not only those that it gave to another manager or Service.
    counts_all: bool,
}

impl CreateLimit {
    /// No limit.
    const NONE: Self = Self { left: usize::MAX, counts_all: false };

    /// Creates until admission has given this many new slices to another manager or Service.
    pub(super) const fn until_lost(left: usize) -> Self {
        Self { left, counts_all: false }
    }

    /// This many creates.
    pub(super) const fn at_most(left: usize) -> Self {
        Self { left, counts_all: true }
    }

    /// True if no slice may be created.
    pub(super) const fn is_reached(self) -> bool {
        self.left == 0
    }
}

impl<'a> WriteBudget<'a> {
    /// This many writes, up to [`MAX_WRITES`], for a key of this queue.
    pub(crate) fn of(queue: &'a WorkQueue<ObjectKey>, writes: usize) -> Self {
        Self { queue, left: writes.min(MAX_WRITES), creates: CreateLimit::NONE }
    }

    /// The same with this limit on creates.
    #[must_use]
    pub(super) fn with_creates(self, creates: CreateLimit) -> Self {
        Self { creates, ..self }
    }

    /// True if another slice may be created.
    pub(super) fn may_create(&self) -> bool {
        !self.creates.is_reached()
    }

    /// Counts a slice that was created, and whether admission gave it to another manager or Service.
    pub(super) fn created(&mut self, is_lost: bool) {
        self.creates.left = self.creates.left.saturating_sub(usize::from(is_lost || self.creates.counts_all));
    }

    /// Takes one write from the budget. Returns false if none may be made.
    pub(super) fn take(&mut self) -> bool {
        if self.left == 0 || self.queue.is_shut_down() {
            return false;
        }
        self.left -= 1;
        true
    }

    /// The number of writes that are left.
    pub(super) fn left(&self) -> usize {
        self.left
    }
}
