//! The monotonic clock and the timers of a process, and the seam at which a simulation gives each process its own clock.
//!
//! [`Instant`], [`sleep`] and [`timeout`] are those of `tokio::time`. A simulation that runs several processes on one
//! runtime polls the tasks of each within [`with_clock`]: their clock may then be faster or slower than the runtime's, as
//! the clocks of two machines are, and their timers follow it.

use std::fmt::{self, Debug};
use std::ops::{Add, AddAssign, Sub};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Sleep, Timeout};

/// The clock of a simulated process, relative to that of the runtime. Without a method of its own it is the same clock.
pub trait Clock: Send + Sync {
    /// The time that this clock shows at a time of the runtime. It never falls.
    fn shown_at(&self, runtime: tokio::time::Instant) -> tokio::time::Instant {
        runtime
    }

    /// The time of the runtime at which this clock shows a time, if its rate stays.
    fn when_shown(&self, shown: tokio::time::Instant) -> tokio::time::Instant {
        shown
    }
}

tokio::task_local! {
    static CLOCK: Arc<dyn Clock>;
}

/// Calls a function that sees a clock.
pub fn with_clock<R>(clock: Arc<dyn Clock>, call: impl FnOnce() -> R) -> R {
    CLOCK.sync_scope(clock, call)
}

/// A time of the process's monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(tokio::time::Instant);

impl Instant {
    /// The time now.
    pub fn now() -> Self {
        let runtime = tokio::time::Instant::now();
        Self(CLOCK.try_with(|clock| clock.shown_at(runtime)).unwrap_or(runtime))
    }

    /// A time of the standard library's type as one of this type.
    pub fn from_std(time: std::time::Instant) -> Self {
        Self(tokio::time::Instant::from_std(time))
    }

    /// The same time in the standard library's type.
    pub fn into_std(self) -> std::time::Instant {
        self.0.into_std()
    }

    /// The time since then; zero for a time to come.
    pub fn elapsed(self) -> Duration {
        Self::now().saturating_duration_since(self)
    }

    /// The time since an earlier time; zero if that is later.
    pub fn duration_since(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// The time since an earlier time; zero if that is later.
    pub fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// The time since an earlier time; `None` if that is later.
    pub fn checked_duration_since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// A later time; `None` beyond what the type holds.
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }

    /// The time of the runtime at which the process's clock shows this one.
    fn of_runtime(self) -> tokio::time::Instant {
        CLOCK.try_with(|clock| clock.when_shown(self.0)).unwrap_or(self.0)
    }

    /// A time from now; thirty years from now for a duration beyond what the type holds.
    fn in_future(duration: Duration) -> Self {
        let now = Self::now();
        now.checked_add(duration).unwrap_or_else(|| now + Duration::from_secs(30 * 365 * 86_400))
    }
}

impl Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0 - duration)
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

/// Waits for a duration, from this call on. A timer that is set keeps the rate that the clock has at this call.
pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(Instant::in_future(duration))
}

/// Waits until a time.
pub fn sleep_until(deadline: Instant) -> Sleep {
    tokio::time::sleep_until(deadline.of_runtime())
}

/// Waits for a future for a duration at most, from this call on.
///
/// # Errors
/// The future is not complete by then.
pub fn timeout<F: Future>(duration: Duration, future: F) -> Timeout<F> {
    timeout_at(Instant::in_future(duration), future)
}

/// Waits for a future until a time at most.
///
/// # Errors
/// The future is not complete by then.
pub fn timeout_at<F: Future>(deadline: Instant, future: F) -> Timeout<F> {
    tokio::time::timeout_at(deadline.of_runtime(), future)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant as Runtime;

    use super::*;

    /// Twice as fast as the runtime's, since a time.
    struct Fast(Runtime);

    impl Clock for Fast {
        fn shown_at(&self, runtime: Runtime) -> Runtime {
            self.0 + 2 * (runtime - self.0)
        }

        fn when_shown(&self, shown: Runtime) -> Runtime {
            self.0 + (shown - self.0) / 2
        }
    }

    #[tokio::test(start_paused = true)]
    async fn timers_follow_the_clock_of_the_process() {
        let start = Runtime::now();
        let clock: Arc<dyn Clock> = Arc::new(Fast(start));
        let mut process = Box::pin(async {
            let begin = Instant::now();
            sleep(Duration::from_secs(10)).await;
            let outcome = timeout(Duration::from_secs(20), std::future::pending::<()>()).await;
            assert!(outcome.is_err());
            begin.elapsed()
        });
        let shown =
            std::future::poll_fn(|context| with_clock(Arc::clone(&clock), || process.as_mut().poll(context)));
        assert_eq!(shown.await, Duration::from_secs(30));
        assert_eq!(start.elapsed(), Duration::from_secs(15));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_clock_time_is_the_runtime_s() {
        let (start, begin) = (Runtime::now(), Instant::now());
        assert!(timeout(Duration::MAX, sleep(Duration::from_secs(3))).await.is_ok());
        assert_eq!((start.elapsed(), begin.elapsed()), (Duration::from_secs(3), Duration::from_secs(3)));
    }
}
