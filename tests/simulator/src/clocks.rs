//! The clocks of a replica's machine: they may run at another rate than the API server's, and the wall clock may jump.

use std::time::Duration;

use jiff::Timestamp;
use kube_api::time::Clock;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The time at which the wall clocks of every history begin, in seconds.
const BEGIN: i64 = 1_000_000_000;

/// The wall clock that began with the history, ahead by some seconds, at a time.
pub fn wall_clock(start: Instant, now: Instant, ahead: i64) -> Timestamp {
    let elapsed = jiff::SignedDuration::try_from(now.duration_since(start)).unwrap_or_default();
    let begin = Timestamp::from_second(BEGIN + ahead).unwrap_or_default();
    begin.checked_add(elapsed).unwrap_or(begin)
}

/// Both clocks of a machine.
#[derive(Debug)]
pub struct Clocks {
    start: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// 100 for the rate of the runtime.
    percent: u32,
    /// The last change of the rate: the time of the runtime, and the one that was shown.
    since: Instant,
    shown: Instant,
    /// By which the wall clock is ahead, in seconds.
    ahead: i64,
}

impl Clocks {
    /// Clocks that agree with those of the API server of a history that began at `start`.
    pub fn new(start: Instant) -> Self {
        let state = State { percent: 100, since: start, shown: start, ahead: 0 };
        Self { start, state: Mutex::new(state) }
    }

    /// Moves the wall clock.
    pub fn jump(&self, seconds: i64) {
        self.state.lock().ahead += seconds;
    }

    /// Changes the rate of both clocks from now on.
    pub fn set_rate(&self, percent: u32) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.shown = state.shown_at(now);
        state.since = now;
        state.percent = percent;
    }

    /// The time of the wall clock.
    pub fn wall_clock(&self) -> Timestamp {
        let state = self.state.lock();
        wall_clock(self.start, state.shown_at(Instant::now()), state.ahead)
    }
}

impl State {
    fn shown_at(&self, runtime: Instant) -> Instant {
        self.shown + scaled(runtime.saturating_duration_since(self.since), self.percent, 100)
    }
}

impl Clock for Clocks {
    fn shown_at(&self, runtime: Instant) -> Instant {
        self.state.lock().shown_at(runtime)
    }

    fn when_shown(&self, shown: Instant) -> Instant {
        let state = self.state.lock();
        // A nanosecond more than the quotient: the clock has shown the time by then.
        let left = scaled(shown.saturating_duration_since(state.shown), 100, state.percent);
        if state.percent == 100 { state.since + left } else { state.since + left + Duration::from_nanos(1) }
    }
}

/// A duration times a quotient.
fn scaled(duration: Duration, times: u32, by: u32) -> Duration {
    if times == by { duration } else { duration * times / by }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_follows_its_rate_from_each_change_on() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let clocks = Clocks::new(start);
        tokio::time::advance(10 * second).await;
        clocks.set_rate(80);
        tokio::time::advance(10 * second).await;
        assert_eq!(clocks.shown_at(Instant::now()), start + 18 * second);
        let later = clocks.when_shown(start + 22 * second);
        assert!(clocks.shown_at(later) >= start + 22 * second);
        assert_eq!((later - start).as_secs(), 25);
        clocks.set_rate(120);
        tokio::time::advance(10 * second).await;
        assert_eq!(clocks.shown_at(Instant::now()), start + 30 * second);
        clocks.jump(-3);
        assert_eq!(clocks.wall_clock().as_second(), BEGIN + 27);
    }
}
