//! The token bucket behind every rate limit, such as those of requests, retries and events. Pure; the time is an
//! argument.

use std::time::{Duration, Instant};

/// The fill rate and the size of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The time between two tokens.
    interval: Duration,
    /// Tokens in a full bucket.
    burst: u32,
}

impl Rate {
    /// One token per interval. A burst of zero counts as one: an empty bucket would let nothing through.
    pub const fn every(interval: Duration, burst: u32) -> Self {
        Self { interval, burst: if burst == 0 { 1 } else { burst } }
    }

    /// `qps` tokens a second; `None` if that is not above zero (or not a number), which means no limit, as for
    /// client-side QPS in Kubernetes.
    pub fn per_second(qps: f64, burst: u32) -> Option<Self> {
        let interval = || Duration::try_from_secs_f64(qps.recip()).unwrap_or(Duration::MAX);
        (qps > 0.0).then(|| Self::every(interval(), burst))
    }

    /// Tokens a second.
    pub fn qps(self) -> f64 {
        self.interval.as_secs_f64().recip()
    }

    /// Tokens in a full bucket.
    pub const fn burst(self) -> u32 {
        self.burst
    }

    /// The time for which the tokens of `time` at another rate are missing at this one.
    fn converted(self, time: Duration, other: Self) -> Duration {
        let ratio = self.interval.as_secs_f64() / other.interval.as_secs_f64();
        Duration::try_from_secs_f64(time.as_secs_f64() * ratio).unwrap_or(Duration::MAX)
    }

    /// The time in which an empty bucket fills.
    fn depth(self) -> Duration {
        self.interval.saturating_mul(self.burst)
    }
}

/// A bucket that starts full, kept as the one instant at which it will be full again (the "generic cell rate
/// algorithm"): the same bucket as golang.org/x/time/rate in integer arithmetic. Taking a token moves the instant one
/// interval on.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenBucket {
    full_at: Option<Instant>,
}

impl TokenBucket {
    /// The time until there is a token.
    pub fn wait(self, rate: Rate, now: Instant) -> Duration {
        self.after_next(rate, now).saturating_duration_since(now).saturating_sub(rate.depth())
    }

    /// Takes the next token and returns the time until it comes; takes none if that is longer than `longest`.
    pub fn take_within(&mut self, longest: Duration, rate: Rate, now: Instant) -> Option<Duration> {
        let wait = self.wait(rate, now);
        if wait > longest {
            return None;
        }
        self.full_at = Some(self.after_next(rate, now));
        Some(wait)
    }

    /// Takes this many tokens if they are all there, at most a full bucket. Otherwise takes none, and returns the time until
    /// they are.
    pub fn take_all(&mut self, tokens: u32, rate: Rate, now: Instant) -> Result<(), Duration> {
        let tokens = tokens.clamp(1, rate.burst);
        let full_at = self.full_at.map_or(now, |at| at.max(now));
        let after = full_at.checked_add(rate.interval.saturating_mul(tokens)).unwrap_or(full_at);
        match after.saturating_duration_since(now).saturating_sub(rate.depth()) {
            Duration::ZERO => {
                self.full_at = Some(after);
                Ok(())
            }
            wait => Err(wait),
        }
    }

    /// Takes a token even if there is none, but leaves the bucket at most `debt` below empty.
    pub fn take_in_debt(&mut self, debt: Duration, rate: Rate, now: Instant) {
        let after = self.after_next(rate, now);
        let lowest = now.checked_add(rate.depth().saturating_add(debt));
        self.full_at = Some(lowest.map_or(after, |lowest| after.min(lowest)));
    }

    /// Returns an unused token.
    pub fn give_back(&mut self, rate: Rate) {
        self.full_at = self.full_at.and_then(|at| at.checked_sub(rate.interval));
    }

    /// Goes on at another rate, with as many tokens as there are.
    pub fn change_rate(&mut self, from: Rate, to: Rate, now: Instant) {
        let missing = self.full_at.map(|at| at.saturating_duration_since(now));
        self.full_at = missing.and_then(|missing| now.checked_add(to.converted(missing, from)));
    }

    /// True if the bucket is full.
    pub fn is_full(self, now: Instant) -> bool {
        self.full_at.is_none_or(|at| at <= now)
    }

    /// The time at which the bucket is full again if one more token is taken.
    fn after_next(self, rate: Rate, now: Instant) -> Instant {
        let full_at = self.full_at.map_or(now, |at| at.max(now));
        full_at.checked_add(rate.interval).unwrap_or(full_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const TEN: Rate = Rate::every(Duration::from_millis(100), 3);

    fn take(bucket: &mut TokenBucket, now: Instant) -> u128 {
        bucket.take_within(Duration::MAX, TEN, now).unwrap().as_millis()
    }

    #[test]
    fn a_burst_is_free_then_tokens_are_spaced() {
        let (mut bucket, start) = (TokenBucket::default(), Instant::now());
        assert_eq!([(); 5].map(|()| take(&mut bucket, start)), [0, 0, 0, 100, 200]);
        assert_eq!(take(&mut bucket, start + 250 * MS), 50, "2.5 more tokens, of which 2 were reserved");
        bucket.give_back(TEN);
        assert_eq!(bucket.wait(TEN, start + 250 * MS), 50 * MS);
        let later = start + Duration::from_secs(3600);
        assert!(bucket.is_full(later) && !bucket.is_full(start));
        assert_eq!([(); 4].map(|()| take(&mut bucket, later)), [0, 0, 0, 100], "full, not fuller");
    }

    #[test]
    fn another_rate_goes_on_with_the_tokens_that_there_are() {
        let (mut bucket, now) = (TokenBucket::default(), Instant::now());
        let fast = Rate::every(10 * MS, 3);
        assert_eq!([(); 5].map(|()| take(&mut bucket, now)), [0, 0, 0, 100, 200]);
        assert_eq!(bucket.wait(TEN, now), 300 * MS);
        bucket.change_rate(TEN, fast, now);
        assert_eq!(bucket.wait(fast, now), 30 * MS);
        bucket.change_rate(fast, TEN, now);
        assert_eq!(bucket.wait(TEN, now), 300 * MS);
    }

    #[test]
    fn a_token_that_comes_too_late_is_not_taken() {
        let (mut bucket, now) = (TokenBucket::default(), Instant::now());
        let mut within = |longest| bucket.take_within(longest, TEN, now);
        let free = Some(Duration::ZERO);
        assert_eq!([(); 4].map(|()| within(Duration::ZERO)), [free, free, free, None]);
        assert_eq!(within(100 * MS), Some(100 * MS));
    }

    #[test]
    fn a_debt_has_a_limit() {
        let (mut bucket, now) = (TokenBucket::default(), Instant::now());
        (0..100).for_each(|_| bucket.take_in_debt(50 * MS, TEN, now));
        assert_eq!(bucket.wait(TEN, now), 150 * MS);
    }

    #[test]
    fn invalid_rates_neither_block_nor_panic() {
        for qps in [0.0, -1.0, f64::NAN] {
            assert_eq!(Rate::per_second(qps, 1), None, "{qps}");
        }
        let now = Instant::now();
        for (qps, burst) in [(f64::INFINITY, 1), (10.0, 0), (1e-300, 0), (1e-300, u32::MAX)] {
            let rate = Rate::per_second(qps, burst).unwrap();
            let mut bucket = TokenBucket::default();
            assert_eq!(bucket.take_within(Duration::MAX, rate, now), Some(Duration::ZERO), "{qps} {burst}");
            bucket.take_within(Duration::MAX, rate, now);
        }
    }

    #[test]
    fn several_tokens_are_taken_at_once_or_not_at_all() {
        let (mut bucket, start) = (TokenBucket::default(), Instant::now());
        assert_eq!(bucket.take_all(2, TEN, start), Ok(()));
        assert_eq!(bucket.take_all(2, TEN, start), Err(100 * MS));
        assert_eq!(bucket.take_all(1, TEN, start), Ok(()), "none was taken");
        assert_eq!(bucket.take_all(9, TEN, start), Err(300 * MS), "no more than a full bucket");
        assert_eq!(bucket.take_all(9, TEN, start + 300 * MS), Ok(()));
        assert_eq!(bucket.take_all(0, TEN, start + 300 * MS), Err(100 * MS), "no less than one");
    }
}
