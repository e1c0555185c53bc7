//! The configuration of retries.

use std::time::Duration;

use kube_api::token_bucket::Rate;

/// The delays of [`retry`](super::WorkQueue::retry).
///
/// The delay of a failure is the longer of two, as in client-go's `MaxOfRateLimiter`: `base_delay`, doubled with each
/// consecutive failure of the key and capped at `max_delay`, and the wait for the bucket that all keys share. Two
/// things differ from client-go, because no key is ever given up:
///
/// * The wait for the bucket is capped at `max_delay` too. In client-go it has no cap, so that of 30,000 keys that fail
///   in an outage the last is retried 50 minutes later. Retries that the bucket delays have
///   [`Priority::Low`](super::Priority::Low), so that changes overtake them.
/// * A failure that says nothing about the key, because the API server is unavailable, is retried every
///   `max_unavailable_delay` at least, whatever the bucket has: the rate limit of requests protects the server, and lets
///   what is urgent go first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// The delay after the first failure of a key. With zero, every retry is immediate unless the bucket delays it.
    pub base_delay: Duration,
    /// The longest delay of a key, however often it failed and however many other keys did.
    pub max_delay: Duration,
    /// The longest delay, the wait for the bucket included, if the API server was
    /// [unavailable](super::FailureReason::Unavailable). At most `max_delay` counts.
    pub max_unavailable_delay: Duration,
    /// The limit on retries of all keys together, if there is one.
    pub bucket: Option<Bucket>,
}

impl Default for RateLimit {
    /// client-go's `DefaultTypedControllerRateLimiter`: 5 ms doubling to 1,000 s, and 10 retries a second after a burst
    /// of
    /// 100. The longest delay while the API server is unavailable is one minute.
    fn default() -> Self {
        Self {
            base_delay: Duration::from_millis(5),
            max_delay: Duration::from_secs(1000),
            max_unavailable_delay: Duration::from_secs(60),
            bucket: Some(Bucket::DEFAULT),
        }
    }
}

/// A token bucket: `burst` retries at once, and `qps` a second in the long run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Tokens a second. A value that is not above zero means no limit, as for client-side QPS in Kubernetes.
    pub qps: f64,
    /// Tokens in a full bucket. Zero counts as one: a bucket that never fills would never let a key retry.
    pub burst: u32,
}

impl Bucket {
    /// client-go's default: 10 a second after a burst of 100.
    pub const DEFAULT: Self = Self { qps: 10.0, burst: 100 };

    pub(super) fn rate(self) -> Option<Rate> {
        Rate::per_second(self.qps, self.burst)
    }
}
