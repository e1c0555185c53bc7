//! A queue of keys to be synced, with the semantics of client-go's `util/workqueue`.
//!
//! ```text
//! handlers ── add, add_after ──┐                        ┌─ Item ─> worker ─┐
//!                              ├─> WorkQueue ── get ───┼─ Item ─> worker ─┤ drop = done
//! workers ── retry, forget ────┘                        └─ Item ─> worker ─┘
//! ```
//!
//! The queue holds *keys*, never what happened to them. Hence it may merge: however often a key is added before a
//! worker takes it, it is handed out once. And hence a controller built on it is level-triggered.
//!
//! The rules, the first three of which are client-go's:
//!
//! 1. A key is with at most one worker. Added meanwhile, it is handed out again once that worker is done.
//! 2. Nothing is lost: after each add of a key there is a hand-out of that key that starts later than the add.
//! 3. A delayed key waits for the earliest deadline it was given. Adding it at once does not cancel the wait.
//! 4. There are two [lanes](Priority). A key in [`Priority::Normal`] never waits behind the work in [`Priority::Low`], except
//!    that every ninth key comes from there, so that this work ends too ([`NORMAL_PER_LOW`]). Within a priority, first
//!    in is first out. A background key that is added live moves over.
//! 5. A key that fails is retried for ever, at growing intervals with a cap that holds for all keys together
//!    ([`RateLimit`]). What fails counts apart within a key, and a cache that is behind is no failure ([`Cause`]).
//! 6. A retry is a wait of its own beside that of rule 3. A sync that succeeds cancels the retry that waited when it
//!    began (client-go lets it run), and never a delayed add.
//!
//! # Costs
//!
//! Adds and hand-outs are O(1), delayed ones O(log n) in the number of delayed keys. A key that is neither queued nor
//! delayed nor processed nor failing leaves nothing behind. One short lock per operation, never held across an
//! `await`. There is no background task: of the idle workers one, the deadline_waiter, sleeps until the earliest deadline,
//! and hands that office on when it finds work.
//!
//! # Inside
//!
//! `core` is the whole behaviour as a pure state machine; `lanes`, `delays` and `limit` are its parts. This file puts
//! a lock, a clock and wake-ups around it.
//!
//! # What is deliberately absent
//!
//! A limit on attempts (upstream's controllers give up after 15): a key that is wrong stays in the queue. And a bound
//! on length: the number of distinct keys is the bound.

mod core;
mod delays;
mod lanes;
mod limit;
mod metrics;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

pub use self::core::QueueKey;
use self::core::{Core, Next};
pub use self::lanes::{NORMAL_PER_LOW, Priority};
/// The name of [`Priority`] that informers' handlers use until they take `is_initial_list`.
#[doc(hidden)]
pub type Lane = Priority;
pub use self::limit::{Bucket, Cause, FailureReason, MAX_CONFLICT_DELAY, RateLimit, STALE_CACHE_DELAY};
pub use self::metrics::QueueMetrics;
use self::metrics::Series;

/// The queue. Clones are handles to the same queue.
///
/// ```
/// use controller_kit::queue::{RateLimit, WorkQueue};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # async fn sync(_: &str) -> Result<(), ()> { Ok(()) }
/// let queue = WorkQueue::new(RateLimit::default());
/// queue.add("default/web".to_owned());
/// queue.add("default/web".to_owned()); // one hand-out
/// queue.shut_down();
///
/// while let Some(item) = queue.get().await {
///     match sync(&item).await {
///         Ok(()) => queue.forget(&item),
///         Err(()) => queue.add_rate_limited(item.clone()), // or `retry`, if more is known
///     }
/// } // the item is done when it goes out of scope
/// # }
/// ```
pub struct WorkQueue<K: QueueKey> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    core: Mutex<Core<K>>,
    /// Idle workers wait here.
    workers: Notify,
    /// The deadline_waiter waits here, too: for a deadline earlier than the one it sleeps for.
    deadline_waiter: Notify,
    drained: Notify,
    series: Option<Series>,
}

impl<K: QueueKey> WorkQueue<K> {
    /// A queue without metrics.
    pub fn new(rate_limit: RateLimit) -> Self {
        Self { shared: Arc::new(Shared::new(rate_limit, None)) }
    }

    /// A queue whose series in `metrics` carry the label `name`.
    pub fn with_metrics(name: &str, rate_limit: RateLimit, metrics: &QueueMetrics) -> Self {
        let shared = Arc::new_cyclic(|shared: &std::sync::Weak<Shared<K>>| {
            let shared = shared.clone();
            let in_flight = move || shared.upgrade().map(|shared| shared.in_flight());
            Shared::new(rate_limit, Some(metrics.of_queue(name, Box::new(in_flight))))
        });
        Self { shared }
    }

    /// Adds `key` with [`Priority::Normal`], because something about it changed.
    pub fn add(&self, key: K) {
        self.add_with_priority(key, Priority::Normal);
    }

    /// Adds `key` with a priority. A queued key of lower priority is promoted; otherwise a queued key stays where it is.
    pub fn add_with_priority(&self, key: K, priority: Priority) {
        self.shared.with(|core, now| core.add(key, priority, now));
    }

    /// Adds a key that a worker holds again, behind the other keys of the priority it was taken with: it has more work to
    /// do, and others come first.
    pub fn requeue(&self, key: K) {
        self.shared.with(|core, now| core.requeue(key, now));
    }

    /// Whether `key` is queued with [`Priority::Low`].
    pub fn is_low_priority(&self, key: &K) -> bool {
        self.shared.core.lock().is_low_priority(key)
    }

    /// Raises the priority of a queued key to [`Priority::Normal`]; it goes behind the others. Does nothing to other keys.
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

    /// [`retry`](Self::retry) after a failure of no particular part of `key`.
    pub fn add_rate_limited(&self, key: K) {
        self.retry(key, &[Cause::FAILURE]);
    }

    /// Adds `key` again after a sync that failed for these causes, when the queue's [`RateLimit`] says so.
    ///
    /// A key already waiting for an earlier retry keeps that time and takes no token from the shared bucket (client-go
    /// takes one for each call, so that there the delays of all keys grow without bound when failing keys are often
    /// added by other ways).
    pub fn retry(&self, key: K, causes: &[Cause]) {
        self.shared.with(|core, now| core.retry(key, causes, now));
    }

    /// Ends the count of `key`'s failures; to be called when it succeeds. A retry that waited when the key was handed
    /// out is cancelled, because the sync that succeeded was newer.
    pub fn forget(&self, key: &K) {
        self.shared.with(|core, now| core.forget(key, now));
    }

    /// How often in a row `key` has failed; of its parts that fail, the one that did so most often.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.shared.core.lock().failures(key)
    }

    /// How many keys could be handed out now: neither delayed ones nor those to be processed again are included.
    pub fn len(&self) -> usize {
        self.shared.with(Core::len)
    }

    /// Whether no key could be handed out now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next key, once there is one; `None` when the queue is shut down and nothing is left to hand out.
    ///
    /// Dropping the future loses nothing.
    pub async fn get(&self) -> Option<Item<K>> {
        let mut watch = Watch { shared: &self.shared, waits_for_deadline: false };
        loop {
            let mut called = pin!(self.shared.workers.notified());
            let next = self.shared.with(|core, now| {
                let next = core.next(watch.waits_for_deadline, now);
                if matches!(next, Next::Wait | Next::WaitUntil(_)) {
                    // Still under the lock: whatever changes the state from here on finds us waiting.
                    called.as_mut().enable();
                }
                watch.waits_for_deadline = matches!(next, Next::WaitUntil(_));
                (next, now)
            });
            match next {
                (Next::Ready(ready), now) => {
                    if let Some(series) = &self.shared.series {
                        series
                            .queue_duration
                            .observe(now.saturating_duration_since(ready.since).as_secs_f64());
                    }
                    return Some(Item { key: ready.key, shared: Arc::clone(&self.shared) });
                }
                (Next::Closed, _) => return None,
                (Next::Wait, _) => called.await,
                (Next::WaitUntil(deadline), _) => tokio::select! {
                    () = called => {}
                    () = self.shared.deadline_waiter.notified() => {}
                    () = tokio::time::sleep_until(deadline.into()) => {}
                },
            }
        }
    }

    /// Ends the queue: later adds are ignored, delayed keys are dropped, what is queued is still handed out, and so
    /// is once more a key that was added while being processed.
    pub fn shut_down(&self) {
        self.shared.with(Core::shut_down);
    }

    /// Whether [`shut_down`](Self::shut_down) was called.
    pub fn is_shut_down(&self) -> bool {
        self.shared.core.lock().is_shut_down()
    }

    /// Returns when the queue is shut down, nothing is queued and no worker holds an item.
    ///
    /// Someone has to go on calling [`get`](Self::get) for that to happen.
    pub async fn drained(&self) {
        loop {
            let mut called = pin!(self.shared.drained.notified());
            called.as_mut().enable();
            if self.shared.core.lock().is_drained() {
                return;
            }
            called.await;
        }
    }

    /// [`shut_down`](Self::shut_down), then [`drained`](Self::drained).
    pub async fn shut_down_with_drain(&self) {
        self.shut_down();
        self.drained().await;
    }
}

impl<K: QueueKey> Shared<K> {
    fn new(rate_limit: RateLimit, series: Option<Series>) -> Self {
        Self {
            core: Mutex::new(Core::new(rate_limit)),
            workers: Notify::new(),
            deadline_waiter: Notify::new(),
            drained: Notify::new(),
            series,
        }
    }

    /// The one way to change the state: does `step`, accounts for it and wakes whom it concerns.
    fn with<R>(&self, step: impl FnOnce(&mut Core<K>, std::time::Instant) -> R) -> R {
        let (result, wake) = {
            let mut core = self.core.lock();
            let before = core.state();
            let result = step(&mut core, Instant::now().into_std());
            let after = core.state();
            if let Some(series) = &self.series {
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
        if wake.drained {
            self.drained.notify_waiters();
        }
        result
    }

    fn in_flight(&self) -> Vec<Duration> {
        self.core.lock().in_flight(Instant::now().into_std()).collect()
    }
}

/// A call to `get` in progress. Passes the deadline_waiter's office on if the call is abandoned.
struct Watch<'a, K: QueueKey> {
    shared: &'a Shared<K>,
    waits_for_deadline: bool,
}

impl<K: QueueKey> Drop for Watch<'_, K> {
    fn drop(&mut self) {
        if self.waits_for_deadline {
            self.shared.with(|core, _| core.remove_deadline_waiter());
        }
    }
}

/// A key on loan to a worker. Until this is dropped no other worker gets the key.
///
/// It derefs to the key. Dropping it says that the worker is done, whether it returned, failed, panicked or was
/// cancelled; so a failed key must be [added again](WorkQueue::retry) before or after, or it is forgotten.
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
        if let Some(series) = &self.shared.series {
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
