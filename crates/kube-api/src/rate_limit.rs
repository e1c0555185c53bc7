//! The client-side rate limit of requests.

use std::time::Duration;

use crate::time::{Instant, sleep};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::token_bucket::{Rate, TokenBucket};

/// A rate limiter: `burst` requests at once, then `qps` a second, first come, first served
/// (`golang.org/x/time/rate`, as client-go's `--kube-api-qps` and `--kube-api-burst`).
///
/// Follows tokio's clock, so tests can pause it.
#[derive(Debug)]
pub struct RateLimiter {
    rate: watch::Sender<Option<Rate>>,
    bucket: Mutex<TokenBucket>,
}

impl RateLimiter {
    /// A limiter with a full bucket. A `qps` that is not positive means no limit.
    pub fn new(qps: f64, burst: u32) -> Self {
        Self { rate: watch::Sender::new(Rate::per_second(qps, burst)), bucket: Mutex::default() }
    }

    /// Changes the rate. If it is another one, the bucket is full again, and callers that wait take their tokens from it.
    pub fn set_rate(&self, qps: f64, burst: u32) {
        let rate = Rate::per_second(qps, burst);
        self.rate.send_if_modified(|current| {
            let changes = *current != rate;
            if changes {
                *self.bucket.lock() = TokenBucket::default();
                *current = rate;
            }
            changes
        });
    }

    /// Takes a token, and waits until it is available. A caller that is cancelled while waiting has used its token.
    pub async fn acquire(&self) {
        loop {
            let rate_changed = self.rate_changed();
            let Some(wait) = self.take() else { return };
            tokio::select! {
                biased;
                () = sleep(wait) => return,
                () = rate_changed => {}
            }
        }
    }

    /// Takes this many tokens if they are there now, at most a full bucket; otherwise takes none, and returns the time until
    /// they are. For callers that decide among themselves whose turn is next.
    ///
    /// # Errors
    ///
    /// The time until the tokens are there, if nobody takes one before.
    pub fn try_acquire(&self, tokens: u32) -> Result<(), Duration> {
        let Some(rate) = *self.rate.borrow() else { return Ok(()) };
        self.bucket.lock().take_all(tokens, rate, Instant::now().into_std())
    }

    /// The time until this number of tokens is there, at most a full bucket, if nobody takes one before.
    pub fn wait(&self, tokens: u32) -> Duration {
        let Some(rate) = *self.rate.borrow() else { return Duration::ZERO };
        // A copy: nothing is taken.
        let mut bucket = *self.bucket.lock();
        bucket.take_all(tokens, rate, Instant::now().into_std()).err().unwrap_or_default()
    }

    /// The tokens of a full bucket; [`u32::MAX`] without a limit.
    pub fn burst(&self) -> u32 {
        self.rate.borrow().map_or(u32::MAX, Rate::burst)
    }

    /// Waits until the rate is changed after this call.
    pub fn rate_changed(&self) -> impl Future<Output = ()> + use<> {
        let mut rate = self.rate.subscribe();
        // Its sender is this limiter.
        async move { drop(rate.changed().await) }
    }

    /// Takes a token, and returns the time until it comes; none if it is there already.
    fn take(&self) -> Option<Duration> {
        let rate = (*self.rate.borrow())?;
        let wait = self.bucket.lock().take_within(Duration::MAX, rate, Instant::now().into_std());
        wait.filter(|wait| !wait.is_zero())
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
    async fn a_new_rate_also_ends_the_waits_of_the_old_one() {
        let limiter = RateLimiter::new(0.001, 1);
        limiter.acquire().await;
        let start = Instant::now();
        let waiting = async { tokio::join!(limiter.acquire(), limiter.acquire(), limiter.acquire()) };
        let change = async {
            sleep(Duration::from_secs(1)).await;
            limiter.set_rate(0.001, 1);
            sleep(Duration::from_secs(1)).await;
            assert_eq!(start.elapsed().as_secs(), 2, "the same rate changes nothing");
            limiter.set_rate(1.0, 2);
        };
        tokio::join!(waiting, change);
        assert_eq!(start.elapsed().as_secs(), 3, "two tokens at once, one a second later");
        limiter.set_rate(0.0, 0);
        limiter.acquire().await;
        assert_eq!(start.elapsed().as_secs(), 3, "no limit");
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
