//! A work queue of keys, after client-go's `util/workqueue`.
//!
//! ```text
//! handlers ── add, add_after ──┐                        ┌─ Item ─> worker ─┐
//!                              ├─> WorkQueue ── get ───┼─ Item ─> worker ─┤ drop = done
//! workers ── retry, forget ────┘                        └─ Item ─> worker ─┘
//! ```
//!
//! The queue holds *keys*, not events. So it may merge: however often a key is added before a worker takes it, it is
//! handed out once. A controller built on it is level-triggered.
//!
//! The rules, the first three of which are client-go's:
//!
//! 1. At most one worker holds a key. If the key is added meanwhile, it is handed out again once that worker is done.
//! 2. No add is lost: each add of a key is followed by a hand-out of that key that begins after the add.
//! 3. A delayed key waits for the earliest deadline it was given. An immediate add does not cancel the wait.
//! 4. A key has a [`Priority`]. A key of [`Priority::Normal`] is handed out before any of [`Priority::Low`], but one in
//!    nine is of low priority, so that such work ends too ([`NORMAL_PER_LOW`]). Keys of one priority are first in,
//!    first out. An add with normal priority promotes a queued key of low priority.
//! 5. A key that fails is retried for ever, at growing intervals with a cap that holds for all keys together
//!    ([`RateLimit`]). Failures are counted by fingerprint within a key, and a stale cache is not a failure ([`Cause`]).
//! 6. A retry is a wait of its own next to that of rule 3. A sync that succeeds cancels the retry that was requested
//!    before the sync began (client-go lets it run), and never a delayed add.
//!
//! 7. The oldest change of a key that has not been written is known ([`WorkQueue::written`]): each add begins one unless
//!    one is there, it stays with the key through retries, and the sync that succeeds ends it.
//!
//! # Cost
//!
//! Adds and hand-outs are O(1), delayed ones O(log n) in the number of delayed keys. A key that is neither queued nor
//! delayed nor processed nor failing takes no memory. One short lock per operation, never held across an `await`. There
//! is no background task: one of the idle workers, the deadline waiter, sleeps until the earliest deadline; when it
//! takes a key, another takes over.
//!
//! # Modules
//!
//! `core` is the whole behaviour as a pure state machine; `ready`, `delays` and `limiter` are its parts. This file puts
//! a lock, a clock and wake-ups around it; `changes` measures how long changes take; `failures` tells of keys that fail;
//! `rest` waits for the end of work; `key_state` is for pages, `sources` for figures of the metrics.
//!
//! # What is deliberately absent
//!
//! * A limit on attempts (upstream's controllers give up after 15): a key that is out of sync stays in the queue.
//! * A bound on length: the number of distinct keys is the bound.

mod cause;
mod change_metrics;
mod changes;
mod core;
mod delays;
mod failures;
mod key;
mod key_state;
mod limiter;
mod metrics;
mod priority;
mod rate_limit;
mod ready;
mod rest;
mod sources;
mod state;
#[cfg(test)]
mod tests;
mod turn_metrics;
mod unwritten;

use std::fmt;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube_api::time::{Instant, sleep_until};
use parking_lot::Mutex;
use tokio::sync::Notify;

pub(crate) use self::cause::reason;
pub use self::cause::{Cause, FailureReason, MAX_CONFLICT_DELAY, STALE_CACHE_DELAY};
use self::core::{Core, Next};
pub use self::key::QueueKey;
pub use self::key_state::{KeyState, LastError, MAX_ERROR_BYTES, MAX_ERRORS};
pub use self::metrics::QueueMetrics;
use self::metrics::{QueueSources, Series};
pub use self::priority::{NORMAL_PER_LOW, Priority};
pub use self::rate_limit::{Bucket, RateLimit};
use self::sources::source;
pub use self::turn_metrics::LEVELS;
pub(crate) use self::turn_metrics::{Summary, TurnSeries};

/// A work queue. Clones are handles to the same queue.
///
/// ```
/// use controller_kit::queue::{RateLimit, WorkQueue};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # async fn sync(_: &str) -> Result<(), ()> { Ok(()) }
/// let queue = WorkQueue::new(RateLimit::default());
/// queue.add("default/web".to_owned());
/// queue.add("default/web".to_owned()); // merged with the first
/// queue.shut_down();
///
/// while let Some(item) = queue.get().await {
///     match sync(&item).await {
///         Ok(()) => queue.forget(&item),
///         Err(()) => queue.add_rate_limited(item.clone()), // or `retry` with causes
///     }
/// } // the item is done when it goes out of scope
/// # }
/// ```
pub struct WorkQueue<K: QueueKey> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    core: Mutex<Core<K>>,
    /// Wakes idle workers.
    workers: Notify,
    /// Wakes the deadline waiter for a deadline that is earlier than the one it sleeps for.
    deadline_waiter: Notify,
    resting: Notify,
    /// None of a queue without metrics.
    series: OnceLock<Series>,
}

impl<K: QueueKey> WorkQueue<K> {
    /// A queue without metrics.
    pub fn new(rate_limit: RateLimit) -> Self {
        Self { shared: Arc::new(Shared::new(rate_limit)) }
    }

    /// A queue whose series in `metrics` carry the label `name`, and those about changes the label `controller`.
    pub fn with_metrics(controller: &str, name: &str, rate_limit: RateLimit, metrics: &QueueMetrics) -> Self {
        let queue = Self::new(rate_limit);
        // A scrape forgets a source whose queue is not there.
        let shared = Arc::downgrade(&queue.shared);
        let sources = QueueSources {
            running: source(&shared, Shared::running),
            oldest: source(&shared, Shared::oldest_change),
            failing: source(&shared, Shared::failing),
        };
        _ = queue.shared.series.set(metrics.of_queue(controller, name, sources));
        queue
    }

    /// Adds `key` with [`Priority::Normal`], because something about it changed.
    pub fn add(&self, key: K) {
        self.add_with_priority(key, Priority::Normal);
    }

    /// Adds `key` with a priority. A queued key of lower priority is promoted; otherwise a queued key stays where it
    /// is.
    pub fn add_with_priority(&self, key: K, priority: Priority) {
        self.shared.with(|core, now| core.add(key, priority, now));
    }

    /// Adds a key that a worker holds again, behind the other keys of the priority it was taken with: it has more work
    /// to do, for the same change, and others come first.
    pub fn requeue(&self, key: K) {
        self.shared.with(|core, now| core.requeue(key, now));
    }

    /// True if `key` is queued with [`Priority::Low`].
    pub fn is_low_priority(&self, key: &K) -> bool {
        self.shared.core.lock().is_low_priority(key)
    }

    /// Raises the priority of a queued key to [`Priority::Normal`]; it goes behind the others. Does nothing to other
    /// keys.
    pub fn promote(&self, key: &K) {
        self.shared.with(|core, now| core.promote(key, now));
    }

    /// Adds `key` with [`Priority::Normal`] after `delay`; at once if it is zero.
    ///
    /// A key already waiting keeps the earlier of both deadlines. Counts as a retry in the metrics, as upstream.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.add_after_with_priority(key, delay, Priority::Normal);
    }

    /// Adds `key` with a priority after `delay`. Of the priorities given during one wait, the highest counts.
    pub fn add_after_with_priority(&self, key: K, delay: Duration, priority: Priority) {
        self.shared.with(|core, now| core.add_after(key, priority, delay, now));
    }

    /// [`retry`](Self::retry) after a failure without details.
    pub fn add_rate_limited(&self, key: K) {
        self.retry(key, &[Cause::FAILURE]);
    }

    /// Adds `key` again after a sync that failed for these causes, with the delay of the queue's [`RateLimit`].
    ///
    /// A key already waiting for an earlier retry keeps that time and takes no token from the shared bucket. (client-go
    /// takes one for each call, so that there the delays of all keys grow without bound if failing keys are often added
    /// by handlers.)
    pub fn retry(&self, key: K, causes: &[Cause]) {
        self.shared.with(|core, now| core.retry(key, causes, now));
        if let Some(series) = self.shared.series.get() {
            series.changes.retried(causes);
        }
    }

    /// Resets the count of `key`'s failures; to be called when a sync succeeds, before its item is dropped. Cancels the
    /// retry that was waiting when the worker got the key, because the sync that succeeded is newer. Its change counts as
    /// [written](Self::written).
    pub fn forget(&self, key: &K) {
        self.shared.end_change(|core, now| {
            core.forget(key, now);
            core.written(key)
        });
    }

    /// The number of keys ready to be handed out, without delayed keys and those to be processed again.
    pub fn len(&self) -> usize {
        self.shared.with(Core::len)
    }

    /// True if no key is ready to be handed out.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for the next key; `None` when the queue is shut down and no key is left.
    ///
    /// Dropping the future loses no key.
    pub async fn get(&self) -> Option<Item<K>> {
        let mut guard = GetGuard { shared: &self.shared, is_waiting: false, is_deadline_waiter: false };
        loop {
            let mut woken = pin!(self.shared.workers.notified());
            let next = self.shared.with(|core, now| {
                let next = core.next(guard.is_deadline_waiter, now);
                let waits = matches!(next, Next::Wait | Next::WaitUntil(_));
                if waits {
                    // Under the lock, so that no later change is missed.
                    woken.as_mut().enable();
                }
                if waits != guard.is_waiting {
                    core.count_waiting(waits);
                    guard.is_waiting = waits;
                }
                guard.is_deadline_waiter = matches!(next, Next::WaitUntil(_));
                (next, now)
            });
            match next {
                (Next::Ready(ready), now) => {
                    if let Some(series) = self.shared.series.get() {
                        series
                            .queue_duration
                            .observe(now.saturating_duration_since(ready.since).as_secs_f64());
                    }
                    return Some(Item { key: ready.key, shared: Arc::clone(&self.shared) });
                }
                (Next::Closed, _) => return None,
                (Next::Wait, _) => woken.await,
                (Next::WaitUntil(deadline), _) => tokio::select! {
                    biased;
                    () = woken => {}
                    () = self.shared.deadline_waiter.notified() => {}
                    () = sleep_until(Instant::from_std(deadline)) => {}
                },
            }
        }
    }

    /// Ends the queue: ignores later adds and drops delayed keys. Queued keys are still handed out, and so is once more
    /// each key that was added while being processed.
    pub fn shut_down(&self) {
        self.shared.with(Core::shut_down);
    }

    /// True if the queue is [shut down](Self::shut_down).
    pub fn is_shut_down(&self) -> bool {
        self.shared.core.lock().is_shut_down()
    }
}

impl<K: QueueKey> Shared<K> {
    fn new(rate_limit: RateLimit) -> Self {
        Self {
            core: Mutex::new(Core::new(rate_limit)),
            workers: Notify::new(),
            deadline_waiter: Notify::new(),
            resting: Notify::new(),
            series: OnceLock::new(),
        }
    }

    /// The only way to change the state: does `step`, updates the metrics and wakes the tasks concerned.
    fn with<R>(&self, step: impl FnOnce(&mut Core<K>, std::time::Instant) -> R) -> R {
        let (result, wake) = {
            let mut core = self.core.lock();
            let before = core.state();
            let result = step(&mut core, Instant::now().into_std());
            let after = core.state();
            if let Some(series) = self.series.get() {
                series.record(&before, &after);
            }
            (result, before.wake(&after))
        };
        if wake.worker {
            self.workers.notify_one();
        }
        if wake.deadline_waiter {
            self.deadline_waiter.notify_one();
        }
        if wake.all_workers {
            self.workers.notify_waiters();
        }
        if wake.resting {
            self.resting.notify_waiters();
        }
        result
    }

    fn running(&self) -> Vec<Duration> {
        self.core.lock().running(Instant::now().into_std()).collect()
    }
}

/// A call of `get` in progress. If it is dropped as the deadline waiter, another idle worker takes over.
struct GetGuard<'a, K: QueueKey> {
    shared: &'a Shared<K>,
    is_waiting: bool,
    is_deadline_waiter: bool,
}

impl<K: QueueKey> Drop for GetGuard<'_, K> {
    fn drop(&mut self) {
        if self.is_waiting {
            self.shared.with(|core, _| {
                core.count_waiting(false);
                if self.is_deadline_waiter {
                    core.remove_deadline_waiter();
                }
            });
        }
    }
}

/// A key that a worker holds. Until this is dropped, no other worker gets the key.
///
/// It derefs to the key. Dropping it ends the processing, whether the worker returned, failed, panicked or was
/// cancelled; so a failed key must be [retried](WorkQueue::retry) explicitly.
#[must_use = "dropping the item reports the key as processed"]
pub struct Item<K: QueueKey> {
    key: K,
    shared: Arc<Shared<K>>,
}

impl<K: QueueKey> Deref for Item<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

impl<K: QueueKey> Drop for Item<K> {
    fn drop(&mut self) {
        let took = self.shared.with(|core, now| core.done(&self.key, now));
        if let Some(series) = self.shared.series.get() {
            series.work_duration.observe(took.as_secs_f64());
        }
    }
}

impl<K: QueueKey> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K: QueueKey> fmt::Debug for WorkQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").field("core", &*self.shared.core.lock()).finish()
    }
}

impl<K: QueueKey> fmt::Debug for Item<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Item").field(&self.key).finish()
    }
}
