//! The client-side bound on requests.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A token bucket: `burst` requests at once, then `qps` each second, in the order they came
/// (`golang.org/x/time/rate`, as client-go's `--kube-api-qps` and `--kube-api-burst`).
///
/// Follows tokio's clock, so tests can pause it.
#[derive(Debug)]
pub struct RateLimiter {
    interval: Option<Duration>,
    burst: u32,
    /// When the bucket will be full again, were nothing else taken.
    full_at: Mutex<Instant>,
}

impl RateLimiter {
    /// A bucket that starts full. A `qps` that is not positive means no limit.
    pub fn new(qps: f64, burst: u32) -> Self {
        let interval = (qps > 0.0).then(|| Duration::try_from_secs_f64(1.0 / qps).unwrap_or(Duration::MAX));
        Self { interval, burst: burst.max(1), full_at: Mutex::new(Instant::now()) }
    }

    /// Takes a token, waiting for it if need be. A caller that gives up while waiting has still used its token.
    pub async fn acquire(&self) {
        let Some(interval) = self.interval else { return };
        let wait_until = {
            let mut full_at = self.full_at.lock();
            let now = Instant::now();
            let before = (*full_at).max(now);
            *full_at = before.checked_add(interval).unwrap_or(before);
            full_at.checked_sub(interval.saturating_mul(self.burst)).filter(|ready| *ready > now)
        };
        if let Some(instant) = wait_until {
            tokio::time::sleep_until(instant).await;
        }
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
