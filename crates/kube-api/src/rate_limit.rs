//! The client-side rate limit of requests.

use std::time::Duration;

use crate::time::{Instant, sleep};
use parking_lot::Mutex;

use crate::token_bucket::{Rate, TokenBucket};

/// A rate limiter: `burst` requests at once, then `qps` a second, first come, first served
/// (`golang.org/x/time/rate`, as client-go's `--kube-api-qps` and `--kube-api-burst`).
///
/// Follows tokio's clock, so tests can pause it.
#[derive(Debug)]
pub struct RateLimiter {
    rate: Option<Rate>,
    bucket: Mutex<TokenBucket>,
}

impl RateLimiter {
    /// A limiter with a full bucket. A `qps` that is not positive means no limit.
    pub fn new(qps: f64, burst: u32) -> Self {
        Self { rate: Rate::per_second(qps, burst), bucket: Mutex::default() }
    }

    /// Takes a token, and waits until it is available. A caller that is cancelled while waiting has used its token.
    pub async fn acquire(&self) {
        let Some(rate) = self.rate else { return };
        let now = Instant::now().into_std();
        let wait = self.bucket.lock().take_within(Duration::MAX, rate, now);
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            sleep(wait).await;
        }
    }

    /// Takes this many tokens if they are there now, at most a full bucket; otherwise takes none, and returns the time until
    /// they are. For callers that decide among themselves whose turn is next.
    ///
    /// # Errors
    ///
    /// The time until the tokens are there, if nobody takes one before.
    pub fn try_acquire(&self, tokens: u32) -> Result<(), Duration> {
        let Some(rate) = self.rate else { return Ok(()) };
        self.bucket.lock().take_all(tokens, rate, Instant::now().into_std())
    }

    /// The time until this number of tokens is there, at most a full bucket, if nobody takes one before.
    pub fn wait(&self, tokens: u32) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        // A copy: nothing is taken.
        let mut bucket = *self.bucket.lock();
        bucket.take_all(tokens, rate, Instant::now().into_std()).err().unwrap_or_default()
    }

    /// The tokens of a full bucket; [`u32::MAX`] without a limit.
    pub fn burst(&self) -> u32 {
        self.rate.map_or(u32::MAX, Rate::burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_free_then_requests_are_spaced() {
        let limiter = RateLimiter::new(20.0, 30);
        let start = Instant::now();
        for _ in 0..30 {
            limiter.acquire().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..20 {
            limiter.acquire().await;
        }
        // The timer counts in milliseconds and rounds up.
        assert_eq!(start.elapsed().as_millis(), 1000);
        tokio::time::advance(Duration::from_secs(60)).await;
        let later = Instant::now();
        for _ in 0..30 {
            limiter.acquire().await;
        }
        assert_eq!(later.elapsed(), Duration::ZERO, "an idle bucket fills up, but not beyond the burst");
    }

    #[tokio::test(start_paused = true)]
    async fn no_limit() {
        let limiter = RateLimiter::new(-1.0, 0);
        let start = Instant::now();
        for _ in 0..10_000 {
            limiter.acquire().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
