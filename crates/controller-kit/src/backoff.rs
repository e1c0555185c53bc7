//! The delays between attempts.

use std::time::Duration;

use kube_api::time::Instant;

/// Delays that double with each failure, with jitter, and start again from the first after two minutes without one.
///
/// The values are those of client-go's reflectors: 800 ms to 30 s, reset after two minutes, jitter up to the delay
/// itself (`tools/cache/reflector.go`), so that many clients of a restarted API server don't retry at the same time.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    last: Option<Instant>,
}

const FIRST: Duration = Duration::from_millis(800);
const MAX: Duration = Duration::from_secs(30);
const RESET_AFTER: Duration = Duration::from_secs(120);

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST, last: None }
    }
}

impl Backoff {
    /// The delay before the next attempt.
    pub fn next_delay(&mut self) -> Duration {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) > RESET_AFTER) {
            self.next = FIRST;
        }
        self.last = Some(now);
        let delay = self.next;
        self.next = (self.next * 2).min(MAX);
        delay.mul_f64(1.0 + fastrand::f64())
    }

    /// Starts again from the first delay, after a success.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn delays_double_up_to_a_cap_and_start_again_after_a_quiet_time() {
        let mut backoff = Backoff::default();
        for expected in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0] {
            let delay = backoff.next_delay().as_secs_f64();
            assert!((expected..=2.0 * expected).contains(&delay), "{delay} for {expected}");
        }
        tokio::time::advance(RESET_AFTER + Duration::from_secs(1)).await;
        assert!(backoff.next_delay() <= 2 * FIRST);
        backoff.next_delay();
        backoff.reset();
        assert!(backoff.next_delay() <= 2 * FIRST);
    }
}
