//! The order in which keys make their writes, if a rate limit makes them wait.
//!
//! client-go's rate limiter serves requests first come, first served, so that for as long as a burst lasts, every other
//! change waits behind it. Here a sync plans first, and says how urgent its plan is. If the limiter has no tokens, the key
//! waits without a worker and without its plan; when its turn comes, it is synced again, from the state of then.
//!
//! ```text
//! worker: plan ─> admit(level, writes) ─┬─ tokens are there, and nobody waits ─> write
//!                                       └─ otherwise ─> the key waits ─> its turn ─> queue ─> worker: plan, write
//! ```
//!
//! # Rules
//!
//! 1. The most urgent level first. Levels are numbers, 0 being the most urgent; their meaning is the controller's.
//! 2. Within a level, namespaces receive turns for equal numbers of writes, made or not, and within a namespace, keys are served in
//!    the order in which they began to wait.
//! 3. One turn in ten goes to the key that has waited longest, whatever its level, once it has waited for five seconds. So a
//!    key waits for at most five seconds and ten turns for each key that was there before it: no level is ever starved. Such a
//!    turn does not count as one of the namespace's. Turns are counted, not writes: five writes in it are 36 % of all if the
//!    other nine turns have one each.
//! 4. A turn is for five writes at most, and for no more than the limiter's burst. A key that needs more waits again, in its
//!    new place.
//! 5. A key that changes while it waits keeps its age and its namespace's place, and gets the urgency of its new plan. Nothing
//!    is written twice, and what was overtaken is not written at all.
//!
//! Without contention nothing waits: [`SyncContext::admit`](crate::worker::SyncContext::admit) takes the tokens and returns.
//!
//! Cost: O(log n) for each plan, about 300 bytes for each key that waits.

mod core;
mod fair;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube_api::RateLimiter;
use kube_api::time::{Instant, sleep};
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::core::{Core, Turn};
use crate::key::ObjectKey;
pub use crate::queue::LEVELS;
use crate::queue::{QueueMetrics, Summary, TurnSeries, WorkQueue};

/// The longest time for which a key waits without being looked at, as a net below this module.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The order of one controller's writes, whose keys are those of one queue and whose requests have one rate limit. Clones are
/// handles to the same order.
#[derive(Clone)]
pub struct WriteOrder(Arc<Shared>);

struct Shared {
    core: Mutex<Core>,
    limiter: Arc<RateLimiter>,
    queue: WorkQueue<ObjectKey>,
    /// A key has begun to wait.
    waits: Notify,
    /// The names of the levels, and their series.
    metrics: OnceLock<([&'static str; LEVELS], TurnSeries)>,
}

/// The outcome of [`WriteOrder::admit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// This number of writes, whose tokens are taken.
    Writes(usize),
    /// Nothing: the key waits, and is synced again when its turn comes.
    Waits,
}

impl WriteOrder {
    /// The order of the writes for the keys of `queue` by a client with this rate limit.
    pub fn new(queue: WorkQueue<ObjectKey>, limiter: Arc<RateLimiter>) -> Self {
        let (core, waits, metrics) = Default::default();
        Self(Arc::new(Shared { core, limiter, queue, waits, metrics }))
    }

    /// The same with series in `metrics`, whose label `controller` is this one and whose label `urgency` has these values, the
    /// most urgent first.
    #[must_use]
    pub fn with_metrics(
        self,
        controller: &str,
        urgencies: [&'static str; LEVELS],
        metrics: &QueueMetrics,
    ) -> Self {
        let shared = Arc::downgrade(&self.0);
        let summary = Box::new(move || shared.upgrade().map(|shared| shared.summary()));
        let series = metrics.turns.of_controller(controller, urgencies, summary);
        _ = self.0.metrics.set((urgencies, series));
        self
    }

    /// Asks for the tokens of this number of writes of a level, for the sync of `key` that is running. Without contention, it
    /// gets as many as there are. Otherwise the key waits.
    pub(crate) fn admit(&self, key: &ObjectKey, level: usize, writes: usize) -> Admission {
        let shared = &*self.0;
        let wanted = u32::try_from(writes).unwrap_or(u32::MAX);
        let now = Instant::now().into_std();
        let mut core = shared.core.lock();
        if let Some(granted) = shared.take_granted(&mut core, key, wanted) {
            core.remove(key);
            return Admission::Writes(granted as usize);
        }
        let level = level.min(LEVELS - 1);
        if core.is_empty() {
            let taken = (0..wanted).take_while(|_| shared.limiter.try_acquire(1)).count();
            if taken > 0 {
                shared.observe(level, Duration::ZERO);
                return Admission::Writes(taken);
            }
        }
        core.wait(key, level, wanted, now);
        let turns = shared.take_turns(&mut core, now);
        let granted = shared.take_granted(&mut core, key, wanted);
        if granted.is_none() {
            // With the lock held, so that no turn of the key comes before.
            shared.queue.park(key.clone(), shared.urgency(level), LONGEST_WAIT);
        }
        drop(core);
        // The sync that is running uses its turn.
        shared.wake(turns, |turn| turn.key != *key);
        shared.waits.notify_one();
        granted.map_or(Admission::Waits, |granted| Admission::Writes(granted as usize))
    }

    /// Records that the sync of a key ended, which does not wait: the tokens that it was granted and has not used go back.
    /// `is_done` if it has nothing left to write; `unused` are writes that it was admitted for and has not made.
    pub(crate) fn finish(&self, key: &ObjectKey, is_done: bool, unused: u32) {
        let shared = &*self.0;
        let mut core = shared.core.lock();
        shared.take_granted(&mut core, key, 0);
        shared.give_back(unused);
        if is_done && core.remove(key).is_some() {
            shared.queue.unpark(key, false);
            // The next turn may need fewer tokens.
            shared.waits.notify_one();
        }
    }

    /// Hands out turns for as long as this is polled.
    pub(crate) async fn run(&self) -> Infallible {
        let shared = &*self.0;
        loop {
            let wait = {
                let mut core = shared.core.lock();
                let now = Instant::now().into_std();
                let turns = shared.take_turns(&mut core, now);
                let next = core.next_writes(now, shared.limiter.burst());
                drop(core);
                shared.wake(turns, |_| true);
                next.map(|writes| shared.limiter.wait(writes))
            };
            tokio::select! {
                () = shared.waits.notified() => {}
                () = sleep(wait.unwrap_or_default()), if wait.is_some() => {}
            }
        }
    }
}

impl Shared {
    /// The name of a level: its number without metrics.
    fn urgency(&self, level: usize) -> &'static str {
        let names = self.metrics.get().map_or(["0", "1", "2", "3", "4", "5"], |(names, _)| *names);
        names.get(level).copied().unwrap_or_default()
    }

    /// Takes what a key was granted, up to the `writes` that it needs. The rest goes back.
    fn take_granted(&self, core: &mut Core, key: &ObjectKey, writes: u32) -> Option<u32> {
        let granted = core.take_granted(key)?;
        self.give_back(granted.saturating_sub(writes));
        Some(granted.min(writes))
    }

    /// Gives tokens back, which may be enough for the next turn.
    fn give_back(&self, tokens: u32) {
        if tokens > 0 {
            self.limiter.give_back(tokens);
            self.waits.notify_one();
        }
    }

    /// Takes turns while there are tokens for the next one.
    fn take_turns(&self, core: &mut Core, now: std::time::Instant) -> Vec<Turn> {
        let mut turns = Vec::new();
        while let Some(writes) = core.next_writes(now, self.limiter.burst()) {
            if !self.limiter.try_acquire(writes) {
                break;
            }
            turns.extend(core.grant(now, writes));
        }
        turns
    }

    /// Ends the wait of the keys whose turn has come, and queues those that `syncs` says.
    fn wake(&self, turns: Vec<Turn>, syncs: impl Fn(&Turn) -> bool) {
        for turn in turns {
            self.observe(turn.level, turn.waited);
            self.queue.unpark(&turn.key, syncs(&turn));
        }
    }

    fn observe(&self, level: usize, waited: Duration) {
        if let Some((_, series)) = self.metrics.get() {
            series.waited(level, waited);
        }
    }

    fn summary(&self) -> Summary {
        let waiting = self.core.lock().summary(Instant::now().into_std());
        Summary { waiting, qps: self.limiter.qps() }
    }
}

impl fmt::Debug for WriteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteOrder").field("core", &*self.0.core.lock()).finish_non_exhaustive()
    }
}
