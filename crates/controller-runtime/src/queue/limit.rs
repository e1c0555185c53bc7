//! How long a failed key waits before its next attempt.

use std::time::{Duration, Instant};

use super::core::{Map, QueueKey, later};

/// The delays of [`add_rate_limited`](super::WorkQueue::add_rate_limited).
///
/// The delay is the longer of two, as in client-go's `MaxOfRateLimiter`: `base` doubled with each failure of the
/// key and capped at `max`, and the wait for a place in the bucket that all keys of the queue share. There is no
/// last attempt: the failure count saturates, and a key that keeps failing is retried every `max`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// The delay after a key's first failure. Zero makes every retry immediate; only the bucket then holds it.
    pub base: Duration,
    /// The longest delay of one key, however often it failed.
    pub max: Duration,
    /// The limit on retries of all keys together, if there is one.
    pub overall: Option<Bucket>,
}

/// A token bucket: `burst` retries at once, and `qps` a second in the long run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Tokens a second. Nothing above zero (or not a number) means no limit, as for client-side QPS in Kubernetes.
    pub qps: f64,
    /// Tokens in a full bucket; zero counts as one, for a bucket that never fills would never let a key retry.
    pub burst: u32,
}

impl RateLimit {
    /// What upstream gives the `endpoint_slice` queue: 1 s doubling to 1,000 s, and 10 a second after a burst of 100.
    pub const fn endpoint_slice() -> Self {
        Self { base: Duration::from_secs(1), max: Duration::from_secs(1000), overall: Some(Bucket::DEFAULT) }
    }

    /// What upstream gives the `endpoint_slice_mirroring` queue: as `endpoint_slice`, capped at 100 s.
    pub const fn endpoint_slice_mirroring() -> Self {
        Self { max: Duration::from_secs(100), ..Self::endpoint_slice() }
    }

    /// client-go's default, which upstream gives the `endpoint` queue: 5 ms doubling to 1,000 s, and the same bucket.
    pub const fn endpoint() -> Self {
        Self { base: Duration::from_millis(5), ..Self::endpoint_slice() }
    }

    /// The same limits with another cap on the delay of one key.
    #[must_use]
    pub const fn with_max(self, max: Duration) -> Self {
        Self { max, ..self }
    }
}

impl Bucket {
    /// The bucket of every controller queue upstream: 10 a second after a burst of 100.
    pub const DEFAULT: Self = Self { qps: 10.0, burst: 100 };

    /// The time one token takes to come back.
    fn interval(self) -> Duration {
        if self.qps > 0.0 {
            Duration::try_from_secs_f64(self.qps.recip()).unwrap_or(Duration::MAX)
        } else {
            Duration::ZERO
        }
    }
}

/// The failures of each key and the state of the shared bucket.
///
/// The bucket is kept as one instant, the time at which it will be full again (the "generic cell rate algorithm").
/// That is the same bucket as golang.org/x/time/rate in integer arithmetic: taking a token moves the instant one
/// interval on, and it may lie as far ahead as there are retries waiting.
#[derive(Debug)]
pub(super) struct Limiter<K> {
    limit: RateLimit,
    failures: Map<K, u32>,
    full_at: Option<Instant>,
}

impl<K: QueueKey> Limiter<K> {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self { limit, failures: Map::default(), full_at: None }
    }

    pub(super) fn failures(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }

    pub(super) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// Counts a failure of `key` and returns what it has to wait on its own account.
    pub(super) fn fail(&mut self, key: &K) -> Duration {
        let RateLimit { base, max, .. } = self.limit;
        let count = self.failures.entry(key.clone()).or_insert(0);
        let delay = 2_u32.checked_pow(*count).map_or(max, |factor| base.saturating_mul(factor).min(max));
        *count = count.saturating_add(1);
        delay
    }

    /// What the next taker of a token has to wait.
    pub(super) fn bucket_delay(&self, now: Instant) -> Duration {
        let Some(bucket) = self.limit.overall else { return Duration::ZERO };
        let depth = bucket.interval().saturating_mul(bucket.burst.max(1));
        let full_at = later(self.full_at.map_or(now, |at| at.max(now)), bucket.interval());
        full_at.saturating_duration_since(now).saturating_sub(depth)
    }

    /// Takes the token that [`bucket_delay`](Self::bucket_delay) spoke of.
    pub(super) fn take_token(&mut self, now: Instant) {
        if let Some(bucket) = self.limit.overall {
            self.full_at = Some(later(self.full_at.map_or(now, |at| at.max(now)), bucket.interval()));
        }
    }

    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        self.failures.is_empty()
    }

    /// Returns the token of a retry that will not happen.
    pub(super) fn return_token(&mut self) {
        if let Some(bucket) = self.limit.overall {
            self.full_at = self.full_at.and_then(|at| at.checked_sub(bucket.interval()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn delays(limiter: &mut Limiter<u8>, n: usize) -> Vec<u128> {
        (0..n).map(|_| limiter.fail(&0).as_millis()).collect()
    }

    #[test]
    fn delays_of_a_key_double_up_to_the_cap_and_stay_there() {
        let limit = RateLimit { overall: None, ..RateLimit::endpoint_slice() };
        let mut limiter = Limiter::new(limit);
        let seconds: Vec<_> = delays(&mut limiter, 12).into_iter().map(|ms| ms / 1000).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);

        limiter.failures.insert(0, u32::MAX - 1);
        assert_eq!(delays(&mut limiter, 3), [1_000_000; 3], "the count saturates");
        assert_eq!(limiter.failures(&0), u32::MAX);

        limiter.forget(&0);
        assert_eq!(limiter.failures(&0), 0);
        assert_eq!(limiter.fail(&0), Duration::from_secs(1));
    }

    #[test]
    fn the_cap_is_a_parameter_and_also_caps_the_base() {
        let mut limiter = Limiter::new(RateLimit::endpoint_slice().with_max(60_000 * MS));
        assert_eq!(delays(&mut limiter, 8), [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        let mut limiter = Limiter::new(RateLimit::endpoint_slice().with_max(200 * MS));
        assert_eq!(delays(&mut limiter, 2), [200, 200]);
        let mut limiter = Limiter::new(RateLimit::endpoint());
        assert_eq!(delays(&mut limiter, 4), [5, 10, 20, 40]);
    }

    #[test]
    fn keys_fail_on_their_own_account() {
        let mut limiter = Limiter::new(RateLimit::endpoint_slice());
        limiter.fail(&0);
        limiter.fail(&0);
        assert_eq!(limiter.fail(&1), Duration::from_secs(1));
        assert_eq!((limiter.failures(&0), limiter.failures(&1), limiter.failures(&2)), (2, 1, 0));
    }

    fn take(limiter: &mut Limiter<u8>, now: Instant) -> u128 {
        let delay = limiter.bucket_delay(now);
        limiter.take_token(now);
        delay.as_millis()
    }

    #[test]
    fn the_bucket_lets_a_burst_through_and_then_spaces_out() {
        let mut limiter = Limiter::<u8>::new(RateLimit::endpoint_slice());
        let start = Instant::now();
        assert!((0..100).all(|_| take(&mut limiter, start) == 0));
        assert_eq!(take(&mut limiter, start), 100);
        assert_eq!(take(&mut limiter, start), 200);
        // 250 ms later 2.5 tokens came in, of which the two reservations use two
        assert_eq!(take(&mut limiter, start + 250 * MS), 50);
        limiter.return_token();
        assert_eq!(take(&mut limiter, start + 250 * MS), 50);
        // an hour later it is full, not fuller
        let later = start + Duration::from_hours(1);
        assert!((0..100).all(|_| take(&mut limiter, later) == 0));
        assert_eq!(take(&mut limiter, later), 100);
    }

    #[test]
    fn a_returned_token_does_not_overfill_the_bucket() {
        let bucket = Bucket { qps: 10.0, burst: 2 };
        let mut limiter = Limiter::<u8>::new(RateLimit { overall: Some(bucket), ..RateLimit::endpoint() });
        let start = Instant::now();
        take(&mut limiter, start);
        limiter.return_token();
        limiter.return_token();
        assert_eq!([0, 0, 100], [(); 3].map(|()| take(&mut limiter, start)));
    }

    #[test]
    fn senseless_buckets_neither_block_nor_panic() {
        let now = Instant::now();
        for (qps, burst, third) in [
            (0.0, 1, Duration::ZERO),
            (-1.0, 1, Duration::ZERO),
            (f64::NAN, 1, Duration::ZERO),
            (f64::INFINITY, 1, Duration::ZERO),
            (10.0, 0, 200 * MS),
        ] {
            let limit = RateLimit { overall: Some(Bucket { qps, burst }), ..RateLimit::endpoint() };
            let mut limiter = Limiter::<u8>::new(limit);
            take(&mut limiter, now);
            take(&mut limiter, now);
            assert_eq!(limiter.bucket_delay(now), third, "{qps} {burst}");
        }
        for burst in [0, u32::MAX] {
            let limit = RateLimit { overall: Some(Bucket { qps: 1e-300, burst }), ..RateLimit::endpoint() };
            let mut limiter = Limiter::<u8>::new(limit);
            take(&mut limiter, now);
            take(&mut limiter, now);
        }
    }
}
