//! The rate of a limiter that follows the API server: up while requests wait and responses stay fast, down when they slow down
//! or are refused. Pure; times are arguments.
//!
//! A fixed `--kube-api-qps` is too low for most clusters in a burst, and too high for some. What a server can take shows in its
//! responses: its priority and fairness queues requests, which slows all of a priority level, before it refuses any (429).
//!
//! # Rules
//!
//! 1. Responses to writes are judged in windows of [`WINDOW`] and at least [`SAMPLES`]. The rate changes once a window at most.
//! 2. The rate rises only if requests waited for it: doubled at first, and after the first slowdown by a fiftieth of the way from
//!    floor to ceiling.
//! 3. A window whose mean latency is above twice the lowest of the last [`MEMORY`] and [`JITTER`] is a slowdown: the rate falls by
//!    three tenths.
//! 4. A refusal (429, or a response with `Retry-After`) or a timeout halves the rate at once, and again after each second of them.
//!    The rate does not rise while the server asks to wait, for up to [`MEMORY`].
//! 5. It is never below the floor, nor above the ceiling. After [`IDLE`] without a response it starts again from the floor, after
//!    the pause that the server asked for.

use std::time::{Duration, Instant};

/// The shortest time between two changes of the rate that responses of a usual latency make.
const WINDOW: Duration = Duration::from_millis(100);
/// The fewest responses that a mean is made of.
const SAMPLES: u32 = 4;
/// The time for which a low latency is what others are compared with.
const MEMORY: Duration = Duration::from_secs(60);
/// A difference of latencies that says nothing.
const JITTER: Duration = Duration::from_millis(10);
/// The time of refusals that are one, of requests that were on their way together.
const REFUSALS: Duration = Duration::from_secs(1);
/// After so long a time the server may be another.
const IDLE: Duration = Duration::from_secs(30);

/// The end of a request, as the limiter sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A response, whatever it says.
    Answered,
    /// The server asks for fewer requests, and for a pause.
    Refused(Duration),
    /// No response within the time for it.
    TimedOut,
}

/// A rate between two bounds, in requests a second.
#[derive(Clone, Debug)]
pub(crate) struct AdaptiveRate {
    floor: f64,
    ceiling: f64,
    rate: f64,
    /// Until the first slowdown.
    doubles: bool,
    /// Requests have waited for the rate since its last change.
    is_wanted: bool,
    begun: Option<Instant>,
    last: Option<Instant>,
    held_until: Option<Instant>,
    halved: Option<Instant>,
    sum: Duration,
    samples: u32,
    lowest: Lowest,
}

impl AdaptiveRate {
    /// A rate that starts at `floor`. A ceiling below the floor counts as the floor.
    pub(crate) fn new(floor: f64, ceiling: f64) -> Self {
        Self {
            floor,
            ceiling: ceiling.max(floor),
            rate: floor,
            doubles: true,
            is_wanted: false,
            begun: None,
            last: None,
            held_until: None,
            halved: None,
            sum: Duration::ZERO,
            samples: 0,
            lowest: Lowest::default(),
        }
    }

    /// The rate of now.
    pub(crate) const fn rate(&self) -> f64 {
        self.rate
    }

    /// Notes that a request waits for the rate.
    pub(crate) const fn wanted(&mut self) {
        self.is_wanted = true;
    }

    /// Notes the end of a request that took `latency` on the wire. O(1).
    pub(crate) fn ended(&mut self, latency: Duration, outcome: Outcome, now: Instant) {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) > IDLE) {
            // The pause that the server asked for may be longer.
            *self = Self { held_until: self.held_until, ..Self::new(self.floor, self.ceiling) };
        }
        self.last = Some(now);
        match outcome {
            Outcome::Answered => self.answered(latency, now),
            Outcome::Refused(pause) => self.refused(pause, now),
            Outcome::TimedOut => self.refused(Duration::ZERO, now),
        }
    }

    fn answered(&mut self, latency: Duration, now: Instant) {
        let begun = *self.begun.get_or_insert(now);
        self.sum = self.sum.saturating_add(latency);
        self.samples += 1;
        if self.samples < SAMPLES || now.saturating_duration_since(begun) < WINDOW {
            return;
        }
        let mean = self.sum / self.samples;
        let is_slow = self.lowest.of(now).is_some_and(|lowest| mean > lowest * 2 + JITTER);
        self.lowest.add(mean, now);
        if is_slow {
            self.doubles = false;
            self.set(self.rate * 0.7);
        } else if self.is_wanted && self.held_until.is_none_or(|until| until <= now) {
            let step = if self.doubles { self.rate } else { (self.ceiling - self.floor) / 50.0 };
            self.set(self.rate + step);
        }
        self.next_window(now);
    }

    fn refused(&mut self, pause: Duration, now: Instant) {
        self.held_until = self.held_until.max(now.checked_add(pause.clamp(WINDOW, MEMORY)));
        self.doubles = false;
        if self.halved.is_none_or(|halved| now.saturating_duration_since(halved) >= REFUSALS) {
            self.halved = Some(now);
            self.set(self.rate * 0.5);
        }
        self.next_window(now);
    }

    fn set(&mut self, rate: f64) {
        self.rate = rate.clamp(self.floor, self.ceiling);
    }

    fn next_window(&mut self, now: Instant) {
        (self.begun, self.is_wanted) = (Some(now), false);
        (self.sum, self.samples) = (Duration::ZERO, 0);
    }
}

/// The lowest latency of the last [`MEMORY`], kept in two halves.
#[derive(Clone, Debug, Default)]
struct Lowest {
    older: Option<Duration>,
    newer: Option<Duration>,
    since: Option<Instant>,
}

impl Lowest {
    fn of(&mut self, now: Instant) -> Option<Duration> {
        let since = *self.since.get_or_insert(now);
        if now.saturating_duration_since(since) > MEMORY / 2 {
            (self.older, self.newer, self.since) = (self.newer.take(), None, Some(now));
        }
        self.older.into_iter().chain(self.newer).min()
    }

    fn add(&mut self, latency: Duration, now: Instant) {
        self.of(now);
        self.newer = Some(self.newer.map_or(latency, |lowest| lowest.min(latency)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A server that answers in `latency` up to a rate, and above it in proportion, for so many windows.
    fn run(rate: &mut AdaptiveRate, capacity: f64, mut now: Instant, windows: usize) -> Instant {
        for _ in 0..windows {
            let load = (rate.rate() / capacity).max(1.0);
            let latency = MS.mul_f64(5.0 * if load > 1.0 { 10.0 * load } else { 1.0 });
            now += WINDOW / SAMPLES;
            for _ in 0..=SAMPLES {
                rate.wanted();
                rate.ended(latency, Outcome::Answered, now);
                now += WINDOW / SAMPLES;
            }
        }
        now
    }

    #[test]
    fn it_doubles_to_the_ceiling_while_the_server_is_fast() {
        let mut rate = AdaptiveRate::new(20.0, 300.0);
        run(&mut rate, 1000.0, Instant::now(), 6);
        assert!((rate.rate() - 300.0).abs() < f64::EPSILON, "{}", rate.rate());
    }

    #[test]
    fn it_stays_where_the_server_begins_to_slow_down() {
        let mut rate = AdaptiveRate::new(20.0, 1000.0);
        let mut now = run(&mut rate, 200.0, Instant::now(), 20);
        for _ in 0..100 {
            now = run(&mut rate, 200.0, now, 1);
            assert!((100.0..=260.0).contains(&rate.rate()), "{}", rate.rate());
        }
    }

    #[test]
    fn without_demand_it_does_not_rise() {
        let (mut rate, mut now) = (AdaptiveRate::new(20.0, 300.0), Instant::now());
        for _ in 0..100 {
            rate.ended(5 * MS, Outcome::Answered, now);
            now += WINDOW;
        }
        assert!((rate.rate() - 20.0).abs() < f64::EPSILON, "{}", rate.rate());
    }

    #[test]
    fn a_refusal_halves_it_once_and_holds_it() {
        let mut rate = AdaptiveRate::new(20.0, 400.0);
        let now = run(&mut rate, 1000.0, Instant::now(), 10);
        for _ in 0..10 {
            rate.ended(MS, Outcome::Refused(Duration::from_secs(2)), now);
        }
        assert!((rate.rate() - 200.0).abs() < f64::EPSILON, "{}", rate.rate());
        let now = run(&mut rate, 1000.0, now, 10);
        assert!((rate.rate() - 200.0).abs() < f64::EPSILON, "it rose in the pause: {}", rate.rate());
        run(&mut rate, 1000.0, now + Duration::from_secs(2), 3);
        assert!(rate.rate() > 200.0 && rate.rate() < 250.0, "{}", rate.rate());
    }

    #[test]
    fn refusals_that_go_on_halve_it_each_second() {
        let (mut rate, start) = (AdaptiveRate::new(20.0, 400.0), Instant::now());
        let start = run(&mut rate, 1000.0, start, 10);
        for refusal in 0..500 {
            rate.ended(MS, Outcome::Refused(Duration::ZERO), start + refusal * 20 * MS);
        }
        assert!((rate.rate() - 20.0).abs() < f64::EPSILON, "{}", rate.rate());
    }

    #[test]
    fn a_timeout_does_not_end_the_pause_that_the_server_asks_for() {
        let mut rate = AdaptiveRate::new(20.0, 400.0);
        let now = run(&mut rate, 1000.0, Instant::now(), 10);
        rate.ended(MS, Outcome::Refused(Duration::from_secs(10)), now);
        rate.ended(MS, Outcome::TimedOut, now);
        run(&mut rate, 1000.0, now, 20);
        assert!((rate.rate() - 200.0).abs() < f64::EPSILON, "it rose in the pause: {}", rate.rate());
    }

    #[test]
    fn the_pause_that_the_server_asks_for_outlasts_an_idle_time() {
        let (mut rate, start) = (AdaptiveRate::new(20.0, 400.0), Instant::now());
        rate.ended(MS, Outcome::Refused(MEMORY), start);
        let mut now = run(&mut rate, 1000.0, start + IDLE + Duration::from_secs(1), 1);
        while now < start + MEMORY {
            assert!((rate.rate() - 20.0).abs() < f64::EPSILON, "it rose in the pause: {}", rate.rate());
            now = run(&mut rate, 1000.0, now, 1);
        }
        run(&mut rate, 1000.0, now, 3);
        assert!(rate.rate() > 20.0, "{}", rate.rate());
    }

    #[test]
    fn no_server_stops_it_for_a_day() {
        let mut rate = AdaptiveRate::new(20.0, 400.0);
        let now = run(&mut rate, 1000.0, Instant::now(), 10);
        rate.ended(MS, Outcome::Refused(Duration::from_secs(86_400)), now);
        run(&mut rate, 1000.0, now, 1000);
        assert!(rate.rate() > 300.0, "{}", rate.rate());
    }

    #[test]
    fn after_a_long_pause_it_starts_from_the_floor() {
        let mut rate = AdaptiveRate::new(20.0, 400.0);
        let now = run(&mut rate, 1000.0, Instant::now(), 10);
        rate.ended(5 * MS, Outcome::Answered, now + IDLE + MS);
        assert!((rate.rate() - 20.0).abs() < f64::EPSILON, "{}", rate.rate());
    }

    proptest! {
        #[test]
        fn it_stays_within_its_bounds(
            steps in prop::collection::vec((0_u32..2_000, 0_u32..10_000, 0_u8..4), 0..300),
            floor in 1.0_f64..100.0,
            above in 0.0_f64..1000.0,
        ) {
            let (mut rate, mut now) = (AdaptiveRate::new(floor, floor + above), Instant::now());
            for (gap, latency, kind) in steps {
                now += gap * MS;
                let outcome = match kind {
                    0 => Outcome::Refused(latency * MS),
                    1 => Outcome::TimedOut,
                    _ => Outcome::Answered,
                };
                rate.wanted();
                rate.ended(latency * MS, outcome, now);
                prop_assert!((floor..=floor + above).contains(&rate.rate()));
            }
        }
    }
}
