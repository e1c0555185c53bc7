//! The number of writes that one sync may make.

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;

/// The most writes of one sync: two and a half seconds at client-go's default of 20 a second.
pub const MAX_WRITES: usize = 50;

/// The writes that one sync may still make: [`MAX_WRITES`] at first, and none once the queue is shut down.
///
/// Without a limit, five Services that need hundreds of slices each would occupy all workers for minutes. A sync that
/// doesn't finish its plan requeues its key behind all waiting keys. The next sync plans again, from a cache that must
/// show what was written so far; so nothing is written twice.
#[derive(Debug)]
pub struct WriteBudget<'a> {
    queue: Option<&'a WorkQueue<ObjectKey>>,
    left: usize,
    /// The new slices that may be given away by admission until no more are created.
    losses: usize,
    /// The slices that may be created.
    creates: usize,
}

impl<'a> WriteBudget<'a> {
    /// [`MAX_WRITES`], for a key of this queue.
    pub fn of(queue: &'a WorkQueue<ObjectKey>) -> Self {
        Self { left: MAX_WRITES, ..Self::until_shutdown(queue) }
    }

    /// No limit until the queue is shut down: for a Service whose syncs make no progress, because the API server stores
    /// something other than what is sent, or rejects it.
    pub fn until_shutdown(queue: &'a WorkQueue<ObjectKey>) -> Self {
        Self { queue: Some(queue), ..Self::unlimited() }
    }

    /// No limit.
    pub const fn unlimited() -> Self {
        Self { queue: None, left: usize::MAX, losses: usize::MAX, creates: usize::MAX }
    }

    /// The same until admission has given this many new slices to another manager or Service: then no more are created.
    #[must_use]
    pub(super) fn with_losses(self, losses: usize) -> Self {
        Self { losses, ..self }
    }

    /// The same with at most this many creates.
    #[must_use]
    pub(super) fn with_creates(self, creates: usize) -> Self {
        Self { creates, ..self }
    }

    /// True if another slice may be created.
    pub(super) fn may_create(&self) -> bool {
        self.losses > 0 && self.creates > 0
    }

    /// Counts a create.
    pub(super) fn create(&mut self) {
        self.creates = self.creates.saturating_sub(1);
    }

    /// Counts a new slice that admission gave away.
    pub(super) fn lose(&mut self) {
        self.losses = self.losses.saturating_sub(1);
    }

    /// Takes one write from the budget. Returns false if none may be made.
    pub(super) fn take(&mut self) -> bool {
        if self.left == 0 || self.queue.is_some_and(WorkQueue::is_shut_down) {
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
