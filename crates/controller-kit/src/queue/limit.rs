//! How long a failed key waits before its next attempt.

use std::time::{Duration, Instant};

use super::core::{Map, QueueKey};
use super::lanes::Priority;
use kube_api::ApiError;
use kube_api::token_bucket::{Rate, TokenBucket};

/// The delays of [`retry`](super::WorkQueue::retry).
///
/// The delay of a failure is the longer of two, as in client-go's `MaxOfRateLimiter`: `base_delay` doubled with each failure
/// in a row and capped, and the wait for a place in the bucket that all keys of the queue share. Two things are
/// different, because no key is ever given up:
///
/// * The wait for the bucket is capped at `max_delay` too. In client-go it has no cap, so that of 30,000 keys that fail in an
///   outage the last is retried 50 minutes later. Retries that the bucket holds back go to [`Priority::Low`], where
///   live changes overtake them.
/// * What may succeed at any moment, because nothing answered, is retried every `max_unavailable_delay` at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// The delay after a key's first failure. Zero makes every retry immediate; only the bucket then holds it.
    pub base_delay: Duration,
    /// The longest delay of one key, however often it failed and however many others did.
    pub max_delay: Duration,
    /// The longest delay on a key's own account of a failure that says nothing about the key, see
    /// [`Cause::Failure`]. Never more than `max_delay`.
    pub max_unavailable_delay: Duration,
    /// The limit on retries of all keys together, if there is one.
    pub bucket: Option<Bucket>,
}

/// Why a key is to be tried again, which decides how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The cache does not show our own writes yet. Not a failure: the event that catches up adds the key, and if that
    /// event never comes, the key is tried again after [`STALE_CACHE_DELAY`]. Takes no token and leaves the count of failures alone.
    StaleCache,
    /// A write met an object that is newer than the cache shows. Not a failure either, but there need not be an event
    /// (quotas answer so too): the delay grows from [`RateLimit::base_delay`] to [`MAX_CONFLICT_DELAY`], on a count of its own.
    Conflict,
    /// Anything else.
    Failure {
        /// Identifies what failed. Consecutive failures with one fingerprint grow its delay; a fingerprint that the last
        /// sync did not fail with starts over. So a part of a key that fails for ever delays neither another part nor
        /// new content of its own.
        fingerprint: u64,
        /// The kind of failure.
        reason: FailureReason,
    },
}

/// The kind of a [`Cause::Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureReason {
    /// The API server refused a request.
    Refused,
    /// A request got no answer, or one that says the server is overloaded or broken. This says nothing about the key, so
    /// it is retried every [`RateLimit::max_unavailable_delay`] at least.
    Unavailable,
    /// Something else.
    Other,
}

/// The longest delay after a conflict that no event follows: an object that another client changes all the time costs one
/// write a minute.
pub const MAX_CONFLICT_DELAY: Duration = Duration::from_secs(60);
/// The delay of a retry for a stale cache, in case the event that should requeue the key never comes.
pub const STALE_CACHE_DELAY: Duration = Duration::from_secs(30);

impl Cause {
    /// A failure of no particular part.
    pub const FAILURE: Self = Self::Failure { fingerprint: 0, reason: FailureReason::Other };

    /// The failure of a request.
    pub fn of_request(fingerprint: u64, error: &ApiError) -> Self {
        let unavailable = error.is_unavailable();
        let reason = if unavailable { FailureReason::Unavailable } else { FailureReason::Refused };
        Self::Failure { fingerprint, reason }
    }
}

/// A token bucket: `burst` retries at once, and `qps` a second in the long run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Tokens a second. Nothing above zero (or not a number) means no limit, as for client-side QPS in Kubernetes.
    pub qps: f64,
    /// Tokens in a full bucket; zero counts as one, for a bucket that never fills would never let a key retry.
    pub burst: u32,
}

impl Default for RateLimit {
    /// client-go's `DefaultTypedControllerRateLimiter`: 5 ms doubling to 1,000 s, and ten retries a second after a burst
    /// of 100. Failures that say nothing about the key are retried every minute at least.
    fn default() -> Self {
        Self {
            base_delay: Duration::from_millis(5),
            max_delay: Duration::from_secs(1000),
            max_unavailable_delay: Duration::from_secs(60),
            bucket: Some(Bucket::DEFAULT),
        }
    }
}

impl Bucket {
    /// The bucket of every controller queue upstream: 10 a second after a burst of 100.
    pub const DEFAULT: Self = Self { qps: 10.0, burst: 100 };

    fn rate(self) -> Option<Rate> {
        Rate::per_second(self.qps, self.burst)
    }
}

/// The failures of each key and the state of the shared bucket.
///
/// The bucket owes at most `max_delay`, so that a mass of failures delays those after it by `max_delay` and no more.
#[derive(Debug)]
pub(super) struct Limiter<K> {
    limit: RateLimit,
    failing: Map<K, Failing>,
    rate: Option<Rate>,
    bucket: TokenBucket,
}

/// What has failed of one key, and how often in a row.
#[derive(Debug, Default)]
struct Failing {
    failures: Vec<(u64, u32)>,
    conflicts: u32,
}

/// How a key is retried.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Retry {
    pub(super) delay: Duration,
    pub(super) priority: Priority,
    pub(super) takes_token: bool,
}

impl<K: QueueKey> Limiter<K> {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self {
            limit,
            failing: Map::default(),
            rate: limit.bucket.and_then(Bucket::rate),
            bucket: TokenBucket::default(),
        }
    }

    /// How often in a row the part of `key` failed that did so most often.
    pub(super) fn failures(&self, key: &K) -> u32 {
        let counts = self.failing.get(key).map(|failing| &failing.failures);
        counts.into_iter().flatten().map(|(_, count)| *count).max().unwrap_or(0)
    }

    pub(super) fn forget(&mut self, key: &K) {
        self.failing.remove(key);
    }

    /// Counts what failed of `key` in one sync, and returns how it is to be retried: as the most urgent cause wants it.
    /// Without any, something failed.
    pub(super) fn retry(&mut self, key: &K, causes: &[Cause], now: Instant) -> Retry {
        let causes = if causes.is_empty() { &[Cause::FAILURE] } else { causes };
        let failed = self.fail(key, causes).map(|delay| {
            let wait = self.bucket_delay(now).min(self.limit.max_delay);
            let priority = if wait > delay { Priority::Low } else { Priority::Normal };
            Retry { delay: delay.max(wait), priority, takes_token: true }
        });
        let behind = self.behind(key, causes).map(|delay| Retry {
            delay,
            priority: Priority::Normal,
            takes_token: false,
        });
        let retries = failed.into_iter().chain(behind);
        let soonest = retries.min_by_key(|retry| retry.delay);
        soonest.unwrap_or(Retry { delay: STALE_CACHE_DELAY, priority: Priority::Normal, takes_token: false })
    }

    /// The shortest delay that one of the failures has on its own account.
    fn fail(&mut self, key: &K, causes: &[Cause]) -> Option<Duration> {
        let RateLimit { base_delay, max_delay, max_unavailable_delay, .. } = self.limit;
        let old = self.failing.get(key).map(|failing| &*failing.failures).unwrap_or_default();
        let mut failures = Vec::new();
        let mut soonest = None;
        for cause in causes {
            let Cause::Failure { fingerprint, reason } = *cause else { continue };
            let count = old.iter().find(|(other, _)| *other == fingerprint).map_or(0, |(_, count)| *count);
            let max = if reason == FailureReason::Unavailable {
                max_delay.min(max_unavailable_delay)
            } else {
                max_delay
            };
            let delay = doubled(base_delay, count).min(max);
            soonest = Some(soonest.map_or(delay, |soonest: Duration| soonest.min(delay)));
            failures.push((fingerprint, count.saturating_add(1)));
        }
        if soonest.is_some() {
            self.failing.entry(key.clone()).or_default().failures = failures;
        }
        soonest
    }

    /// How long until a cache that is behind is looked at again at the latest.
    fn behind(&mut self, key: &K, causes: &[Cause]) -> Option<Duration> {
        let conflict = causes.contains(&Cause::Conflict).then(|| {
            let conflicts = &mut self.failing.entry(key.clone()).or_default().conflicts;
            let delay = doubled(self.limit.base_delay, *conflicts).min(MAX_CONFLICT_DELAY);
            *conflicts = conflicts.saturating_add(1);
            delay
        });
        conflict.or_else(|| causes.contains(&Cause::StaleCache).then_some(STALE_CACHE_DELAY))
    }

    /// What the next taker of a token has to wait.
    fn bucket_delay(&self, now: Instant) -> Duration {
        self.rate.map(|rate| self.bucket.wait(rate, now)).unwrap_or_default()
    }

    /// Takes the token that [`bucket_delay`](Self::bucket_delay) spoke of; false if none will come within `max_delay`.
    pub(super) fn take_token(&mut self, now: Instant) -> bool {
        self.rate.is_some_and(|rate| self.bucket.take_within(self.limit.max_delay, rate, now).is_some())
    }

    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        self.failing.is_empty()
    }

    /// Returns the token of a retry that will not happen.
    pub(super) fn return_token(&mut self) {
        if let Some(rate) = self.rate {
            self.bucket.give_back(rate);
        }
    }
}

fn doubled(base: Duration, times: u32) -> Duration {
    2_u32.checked_pow(times).map_or(Duration::MAX, |factor| base.saturating_mul(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn one_second() -> RateLimit {
        RateLimit { base_delay: Duration::from_secs(1), ..RateLimit::default() }
    }

    fn failure(fingerprint: u64) -> Cause {
        Cause::Failure { fingerprint, reason: FailureReason::Refused }
    }

    /// The own delay of key 0 in milliseconds when these things fail `n` times in a row.
    fn delays_of(limiter: &mut Limiter<u8>, causes: &[Cause], n: usize) -> Vec<u128> {
        (0..n).map(|_| limiter.fail(&0, causes).unwrap().as_millis()).collect()
    }

    fn delays(limiter: &mut Limiter<u8>, n: usize) -> Vec<u128> {
        delays_of(limiter, &[Cause::FAILURE], n)
    }

    fn without_bucket() -> Limiter<u8> {
        Limiter::new(RateLimit { bucket: None, ..one_second() })
    }

    #[test]
    fn delays_of_a_key_double_up_to_the_cap_and_stay_there() {
        let mut limiter = without_bucket();
        let seconds: Vec<_> = delays(&mut limiter, 12).into_iter().map(|ms| ms / 1000).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);

        limiter.failing.get_mut(&0).unwrap().failures = vec![(0, u32::MAX - 1)];
        assert_eq!(delays(&mut limiter, 3), [1_000_000; 3], "the count saturates");
        assert_eq!(limiter.failures(&0), u32::MAX);

        limiter.forget(&0);
        assert_eq!(limiter.failures(&0), 0);
        assert_eq!(delays(&mut limiter, 1), [1000]);
    }

    /// Nothing that fails for ever delays what failed just now.
    #[test]
    fn what_fails_in_a_row_counts_and_what_did_not_begins_anew() {
        let mut limiter = without_bucket();
        let (refused, other) = (failure(4), failure(6));
        assert_eq!(delays_of(&mut limiter, &[refused], 12)[11], 1_000_000);
        assert_eq!(delays_of(&mut limiter, &[refused, other], 3), [1000, 2000, 4000], "the other's");
        assert_eq!(limiter.failures(&0), 15);
        assert_eq!(delays_of(&mut limiter, &[refused], 1), [1_000_000], "the other succeeded");
        assert_eq!(delays_of(&mut limiter, &[other], 1), [1000]);
        assert_eq!(delays_of(&mut limiter, &[refused], 1), [1000], "it was not refused the last time");
        assert_eq!(delays_of(&mut limiter, &[failure(5)], 1), [1000], "the same part with new content");
    }

    #[test]
    fn what_was_not_answered_is_tried_again_every_minute() {
        let mut limiter = without_bucket();
        let unavailable = [Cause::Failure { fingerprint: 4, reason: FailureReason::Unavailable }];
        let seconds: Vec<_> =
            delays_of(&mut limiter, &unavailable, 8).into_iter().map(|ms| ms / 1000).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        let limit = RateLimit { bucket: None, max_delay: 10_000 * MS, ..one_second() };
        assert_eq!(
            delays_of(&mut Limiter::new(limit), &unavailable, 5)[4],
            10_000,
            "never more than the cap"
        );
    }

    fn live(delay: Duration, takes_token: bool) -> Retry {
        Retry { delay, priority: Priority::Normal, takes_token }
    }

    #[test]
    fn a_cache_that_is_behind_is_no_failure() {
        let now = Instant::now();
        let mut limiter = Limiter::<u8>::new(one_second());
        for _ in 0..1000 {
            assert_eq!(limiter.retry(&0, &[Cause::StaleCache], now), live(STALE_CACHE_DELAY, false));
        }
        assert!(limiter.is_blank());
        let conflicts = [1, 2, 4, 8, 16, 32, 60, 60].map(|seconds| live(Duration::from_secs(seconds), false));
        assert_eq!([(); 8].map(|()| limiter.retry(&0, &[Cause::Conflict], now)), conflicts);
        assert_eq!(limiter.failures(&0), 0);
        assert_eq!(limiter.retry(&0, &[failure(4)], now), live(Duration::from_secs(1), true));
        assert_eq!(limiter.retry(&0, &[Cause::StaleCache], now), live(STALE_CACHE_DELAY, false));
        assert_eq!(limiter.retry(&0, &[failure(4)], now), live(Duration::from_secs(2), true), "counts on");
        let (both, first) = ([failure(4), Cause::Conflict], live(Duration::from_secs(4), true));
        assert_eq!(limiter.retry(&0, &both, now), first, "the more urgent of both");
    }

    #[test]
    fn the_cap_is_a_parameter_and_also_caps_the_base() {
        let mut limiter = Limiter::new(RateLimit { max_delay: 60_000 * MS, ..one_second() });
        assert_eq!(delays(&mut limiter, 8), [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        let mut limiter = Limiter::new(RateLimit { max_delay: 200 * MS, ..one_second() });
        assert_eq!(delays(&mut limiter, 2), [200, 200]);
        let mut limiter = Limiter::new(RateLimit::default());
        assert_eq!(delays(&mut limiter, 4), [5, 10, 20, 40]);
    }

    #[test]
    fn keys_fail_on_their_own_account() {
        let mut limiter = Limiter::new(one_second());
        delays(&mut limiter, 2);
        assert_eq!(limiter.fail(&1, &[Cause::FAILURE]), Some(Duration::from_secs(1)));
        assert_eq!((limiter.failures(&0), limiter.failures(&1), limiter.failures(&2)), (2, 1, 0));
    }

    fn take(limiter: &mut Limiter<u8>, now: Instant) -> u128 {
        let delay = limiter.bucket_delay(now);
        limiter.take_token(now);
        delay.as_millis()
    }

    #[test]
    fn the_bucket_lets_a_burst_through_and_then_spaces_out() {
        let mut limiter = Limiter::<u8>::new(one_second());
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

    /// The cap holds for keys behind 30,000 others as well, and for the next key after they are through.
    #[test]
    fn nothing_waits_for_the_bucket_longer_than_the_cap() {
        let limit = RateLimit { max_delay: 100_000 * MS, ..one_second() };
        let mut limiter = Limiter::<u32>::new(limit);
        let start = Instant::now();
        let mut background = 0;
        for key in 0..30_000 {
            let retry = limiter.retry(&key, &[Cause::FAILURE], start);
            assert!(retry.delay <= limit.max_delay, "{key}: {retry:?}");
            assert!(retry.priority == Priority::Normal || retry.delay > limit.base_delay, "{key}: {retry:?}");
            background += u32::from(retry.priority == Priority::Low);
            limiter.take_token(start);
        }
        assert_eq!(background, 30_000 - 110, "a full bucket, and what comes in within a key's own delay");
        let later = start + limit.max_delay + Duration::from_secs(10);
        let retry = limiter.retry(&0, &[failure(7)], later);
        assert_eq!(retry, live(limit.base_delay, true), "the bucket is full again");
    }

    #[test]
    fn a_returned_token_does_not_overfill_the_bucket() {
        let bucket = Bucket { qps: 10.0, burst: 2 };
        let mut limiter = Limiter::<u8>::new(RateLimit { bucket: Some(bucket), ..RateLimit::default() });
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
            let limit = RateLimit { bucket: Some(Bucket { qps, burst }), ..RateLimit::default() };
            let mut limiter = Limiter::<u8>::new(limit);
            take(&mut limiter, now);
            take(&mut limiter, now);
            assert_eq!(limiter.bucket_delay(now), third, "{qps} {burst}");
        }
        for burst in [0, u32::MAX] {
            let limit = RateLimit { bucket: Some(Bucket { qps: 1e-300, burst }), ..RateLimit::default() };
            let mut limiter = Limiter::<u8>::new(limit);
            take(&mut limiter, now);
            take(&mut limiter, now);
        }
    }
}
