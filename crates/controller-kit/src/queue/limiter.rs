//! The delays of failing keys.

use std::time::{Duration, Instant};

use kube_api::token_bucket::{Rate, TokenBucket};

use super::cause::{Cause, FailureReason, MAX_CONFLICT_DELAY, STALE_CACHE_DELAY, failure_reason};
use super::key::{Map, QueueKey, shrink_if_empty};
use super::key_state::{LastError, MAX_ERROR_BYTES, MAX_ERRORS};
use super::priority::Priority;
use super::rate_limit::{Bucket, RateLimit};

/// The failures of each key, and the state of the shared bucket.
///
/// A retry takes no token that comes later than its own longest delay, so that a mass of failures delays those after it by
/// no more than that.
#[derive(Debug)]
pub(super) struct Limiter<K> {
    limit: RateLimit,
    failing: Map<K, Failing>,
    /// The number of keys with an error that is kept.
    errors: usize,
    rate: Option<Rate>,
    bucket: TokenBucket,
}

/// The consecutive failures of one key.
#[derive(Debug, Default)]
struct Failing {
    /// Fingerprints with their counts.
    failures: Vec<(u64, u32)>,
    conflicts: u32,
    /// That of the last failure; none of a key that only conflicted.
    reason: Option<FailureReason>,
    /// On the heap, because few keys fail and fewer have it.
    error: Option<Box<KeptError>>,
}

/// The error of the last sync of a key.
#[derive(Debug)]
struct KeptError {
    at: Instant,
    reason: &'static str,
    text: Box<str>,
}

/// The retry of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Retry {
    pub(super) delay: Duration,
    pub(super) priority: Priority,
    pub(super) takes_token: bool,
}

impl Retry {
    fn normal(delay: Duration, takes_token: bool) -> Self {
        Self { delay, priority: Priority::Normal, takes_token }
    }
}

impl<K: QueueKey> Limiter<K> {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self {
            limit,
            failing: Map::default(),
            errors: 0,
            rate: limit.bucket.and_then(Bucket::rate),
            bucket: TokenBucket::default(),
        }
    }

    /// The number of consecutive failures of `key`: the highest of its fingerprints.
    pub(super) fn failures(&self, key: &K) -> u32 {
        let counts = self.failing.get(key).map(|failing| &failing.failures);
        counts.into_iter().flatten().map(|(_, count)| *count).max().unwrap_or(0)
    }

    pub(super) fn forget(&mut self, key: &K) {
        if self.failing.remove(key).is_some_and(|failing| failing.error.is_some()) {
            self.errors -= 1;
        }
        shrink_if_empty(&mut self.failing);
    }

    /// Keeps the error of a failing key, if it has one already or there is room.
    pub(super) fn keep_error(&mut self, key: &K, reason: &'static str, text: &str, now: Instant) {
        let Some(failing) = self.failing.get_mut(key) else { return };
        if failing.error.is_none() {
            if self.errors == MAX_ERRORS {
                return;
            }
            self.errors += 1;
        }
        let text = text.get(..text.floor_char_boundary(MAX_ERROR_BYTES)).unwrap_or_default();
        failing.error = Some(Box::new(KeptError { at: now, reason, text: text.into() }));
    }

    /// The error of the last sync of a key that fails.
    pub(super) fn last_error(&self, key: &K, now: Instant) -> Option<LastError> {
        let KeptError { at, reason, text } = &**self.failing.get(key)?.error.as_ref()?;
        Some(LastError { age: now.saturating_duration_since(*at), reason, text: text.to_string() })
    }

    /// Counts the failures of one sync of `key` and returns its retry: the soonest of those that the causes ask for.
    /// Without any cause, [`Cause::FAILURE`] counts.
    pub(super) fn retry(&mut self, key: &K, causes: &[Cause], now: Instant) -> Retry {
        let causes = if causes.is_empty() { &[Cause::FAILURE] } else { causes };
        let failed = self.fail(key, causes).map(|delay| {
            let (longest, wait) = (self.longest_of(causes), self.bucket_delay(now));
            let takes_token = wait <= longest;
            let wait = wait.min(longest);
            let priority = if wait > delay { Priority::Low } else { Priority::Normal };
            Retry { delay: delay.max(wait), priority, takes_token }
        });
        let transient = self.transient(key, causes).map(|delay| Retry::normal(delay, false));
        let retries = failed.into_iter().chain(transient);
        let soonest = retries.min_by_key(|retry| retry.delay);
        soonest.unwrap_or(Retry::normal(STALE_CACHE_DELAY, false))
    }

    /// Counts failures and returns the shortest of their own delays.
    fn fail(&mut self, key: &K, causes: &[Cause]) -> Option<Duration> {
        let old = self.failing.get(key).map(|failing| &*failing.failures).unwrap_or_default();
        let mut failures = Vec::new();
        let mut soonest = None;
        for cause in causes {
            let Cause::Failure { fingerprint, reason, pause } = *cause else { continue };
            let count = old.iter().find(|(other, _)| *other == fingerprint).map_or(0, |(_, count)| *count);
            let delay = doubled(self.limit.base_delay, count).max(pause).min(self.longest(reason));
            soonest = Some(soonest.map_or(delay, |soonest: Duration| soonest.min(delay)));
            failures.push((fingerprint, count.saturating_add(1)));
        }
        if soonest.is_some() {
            let failing = self.failing.entry(key.clone()).or_default();
            (failing.failures, failing.reason) = (failures, failure_reason(causes));
        }
        soonest
    }

    /// The longest delay after a failure.
    fn longest(&self, reason: FailureReason) -> Duration {
        let RateLimit { max_delay, max_unavailable_delay, .. } = self.limit;
        if reason == FailureReason::Unavailable { max_delay.min(max_unavailable_delay) } else { max_delay }
    }

    /// The shortest of the longest delays after these failures.
    fn longest_of(&self, causes: &[Cause]) -> Duration {
        let longest = causes.iter().filter_map(|cause| match cause {
            Cause::Failure { reason, .. } => Some(self.longest(*reason)),
            Cause::StaleCache | Cause::Conflict => None,
        });
        longest.min().unwrap_or(self.limit.max_delay)
    }

    /// The delay of a retry for a stale cache or a conflict.
    fn transient(&mut self, key: &K, causes: &[Cause]) -> Option<Duration> {
        let conflict = causes.contains(&Cause::Conflict).then(|| {
            let conflicts = &mut self.failing.entry(key.clone()).or_default().conflicts;
            let delay = doubled(self.limit.base_delay, *conflicts).min(MAX_CONFLICT_DELAY);
            *conflicts = conflicts.saturating_add(1);
            delay
        });
        conflict.or_else(|| causes.contains(&Cause::StaleCache).then_some(STALE_CACHE_DELAY))
    }

    /// The wait for the next token.
    fn bucket_delay(&self, now: Instant) -> Duration {
        self.rate.map(|rate| self.bucket.wait(rate, now)).unwrap_or_default()
    }

    /// Takes the next token; false if none comes within `max_delay`.
    pub(super) fn take_token(&mut self, now: Instant) -> bool {
        self.rate.is_some_and(|rate| self.bucket.take_within(self.limit.max_delay, rate, now).is_some())
    }

    /// The keys whose last sync failed, and the reason; none of a key that only conflicted.
    pub(super) fn failing(&self) -> impl Iterator<Item = (&K, Option<FailureReason>)> {
        self.failing.iter().map(|(key, failing)| (key, failing.reason))
    }

    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        self.failing.is_empty() && self.errors == 0
    }

    /// Returns the token of a cancelled retry.
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
mod tests;
