//! The time for which the cache's lock is held.

use std::cell::Cell;
use std::marker::PhantomData;

use kube_api::time::Instant;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Access {
    access: &'static str,
}

/// A histogram of the lock's holds, by access.
///
/// Every hold is counted, so that the quantiles are those of all holds: a sample would miss the few long ones, and a
/// count of long ones alone has no quantiles. Cost: two reads of the clock and one observation, about 0.1 µs, where a
/// hold takes from one to several hundred. The observation is made after the lock was released.
pub(super) struct LockMetrics {
    holds: Family<Access, Histogram, fn() -> Histogram>,
    reads: Histogram,
    writes: Histogram,
}

impl Default for LockMetrics {
    fn default() -> Self {
        let holds = Family::new_with_constructor(holds as fn() -> Histogram);
        let of = |access| holds.get_or_create_owned(&Access { access });
        Self { reads: of("read"), writes: of("write"), holds }
    }
}

/// From 10 µs to 100 ms. Syncs need microseconds; a hold of more than 5 ms delays all of them noticeably.
fn holds() -> Histogram {
    Histogram::new([
        0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05,
        0.1,
    ])
}

impl LockMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "cache_lock_hold_seconds",
            "[ALPHA] Time in seconds for which the lock of the cache was held, by access: to read it, or to write and to call the handlers of the changes",
            self.holds.clone(),
        );
    }

    /// A hold that reads. It must be dropped after the lock is released, which a variable declared earlier is.
    pub(super) fn read(&self) -> Hold<'_> {
        Hold::new(&self.reads)
    }

    /// The same for a hold that writes; downgraded or not, it is one hold.
    pub(super) fn write(&self) -> Hold<'_> {
        Hold::new(&self.writes)
    }
}

thread_local! {
    /// The number of holds of this thread, of any cache.
    static HOLDS: Cell<usize> = const { Cell::new(0) };
}

/// One hold of the lock by this thread, which ends when this is dropped.
pub(super) struct Hold<'a> {
    holds: &'a Histogram,
    since: Option<Instant>,
    /// It is counted on its thread, and does not leave it.
    not_send: PhantomData<*const ()>,
}

impl<'a> Hold<'a> {
    fn new(holds: &'a Histogram) -> Self {
        Self { holds, since: None, not_send: PhantomData }
    }

    /// True if this thread has a hold: of this cache, or of another, which is rare and does no harm.
    pub(super) fn is_nested() -> bool {
        HOLDS.get() > 0
    }

    /// Records that the lock was acquired; a hold that was never acquired is not counted.
    pub(super) fn acquired(&mut self) {
        HOLDS.set(HOLDS.get() + 1);
        self.since = Some(Instant::now());
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if let Some(since) = self.since {
            HOLDS.set(HOLDS.get() - 1);
            self.holds.observe(since.elapsed().as_secs_f64());
        }
    }
}
