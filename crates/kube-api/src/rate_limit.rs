//! The client-side rate limit of requests.

use std::time::Duration;

use crate::time::{Instant, sleep};
use parking_lot::Mutex;

use crate::adaptive_rate::{AdaptiveRate, Outcome};
use crate::token_bucket::{Rate, TokenBucket};

/// A rate limiter: `burst` requests at once, then `qps` a second, first come, first served
/// (`golang.org/x/time/rate`, as client-go's `--kube-api-qps` and `--kube-api-burst`).
///
/// The rate may [follow the server](Self::adaptive). Follows tokio's clock, so tests can pause it.
#[derive(Debug)]
pub struct RateLimiter {
    /// None without a limit, as `state`.
    initial: Option<Rate>,
    state: Option<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    rate: Rate,
    bucket: TokenBucket,
    adaptive: Option<AdaptiveRate>,
}

impl State {
    /// Notes that a request waits this long.
    fn waits(&mut self, wait: Duration) {
        if let Some(adaptive) = self.adaptive.as_mut().filter(|_| !wait.is_zero()) {
            adaptive.wanted();
        }
    }
}

impl RateLimiter {
    /// A limiter with a full bucket. A `qps` that is not positive means no limit.
    pub fn new(qps: f64, burst: u32) -> Self {
        Self::with(Rate::per_second(qps, burst), None)
    }

    /// A limiter whose rate moves between two bounds, as responses come to its client: up while requests wait and the
    /// server is fast, down when it slows down or refuses. A `floor` that is not positive means no limit.
    pub fn adaptive(floor: f64, ceiling: f64, burst: u32) -> Self {
        Self::with(Rate::per_second(floor, burst), Some(AdaptiveRate::new(floor, ceiling)))
    }

    fn with(rate: Option<Rate>, adaptive: Option<AdaptiveRate>) -> Self {
        let state = rate.map(|rate| Mutex::new(State { rate, bucket: TokenBucket::default(), adaptive }));
        Self { initial: rate, state }
    }

    /// A limiter with a full bucket and the rate that this one began with, which stays as it is: for requests that neither wait
    /// for those of this one nor delay them.
    #[must_use]
    pub fn separate(&self) -> Self {
        Self::with(self.initial, None)
    }

    /// Takes a token, and waits until it is available. A caller that is cancelled while waiting has used its token.
    pub async fn acquire(&self) {
        let Some(state) = &self.state else { return };
        let wait = {
            let mut state = state.lock();
            let rate = state.rate;
            let wait = state.bucket.take_within(Duration::MAX, rate, Instant::now().into_std());
            state.waits(wait.unwrap_or_default());
            wait
        };
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            sleep(wait).await;
        }
    }

    /// Takes this many tokens if they are there now, at most a full bucket, and returns true; otherwise takes none. For callers
    /// that decide among themselves whose turn is next.
    pub fn try_acquire(&self, tokens: u32) -> bool {
        let Some(state) = &self.state else { return true };
        let mut state = state.lock();
        let rate = state.rate;
        let taken = state.bucket.take_all(tokens, rate, Instant::now().into_std());
        state.waits(taken.err().unwrap_or_default());
        taken.is_ok()
    }

    /// Gives back tokens that were taken and not used; no more than a full bucket is kept.
    pub fn give_back(&self, tokens: u32) {
        let Some(state) = &self.state else { return };
        let mut state = state.lock();
        let rate = state.rate;
        (0..tokens).for_each(|_| state.bucket.give_back(rate));
    }

    /// The time until this number of tokens is there, at most a full bucket, if nobody takes one before.
    pub fn wait(&self, tokens: u32) -> Duration {
        let Some(state) = &self.state else { return Duration::ZERO };
        // A copy: nothing is taken.
        let (mut bucket, rate) = {
            let state = state.lock();
            (state.bucket, state.rate)
        };
        bucket.take_all(tokens, rate, Instant::now().into_std()).err().unwrap_or_default()
    }

    /// The tokens of a full bucket; [`u32::MAX`] without a limit.
    pub fn burst(&self) -> u32 {
        self.initial.map_or(u32::MAX, Rate::burst)
    }

    /// The rate of now, in requests a second; infinite without a limit.
    pub fn qps(&self) -> f64 {
        self.state.as_ref().map_or(f64::INFINITY, |state| state.lock().rate.qps())
    }

    /// Tells an [adaptive](Self::adaptive) limiter how a request ended, and how long it was on the wire. Nothing else changes.
    pub(crate) fn ended(&self, latency: Duration, outcome: Outcome) {
        let Some(state) = &self.state else { return };
        let mut state = state.lock();
        let State { rate, bucket, adaptive } = &mut *state;
        let Some(adaptive) = adaptive else { return };
        let now = Instant::now().into_std();
        adaptive.ended(latency, outcome, now);
        let next = Rate::per_second(adaptive.rate(), self.burst()).filter(|next| next != rate);
        if let Some(next) = next {
            bucket.change_rate(*rate, next, now);
            *rate = next;
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
    }

    #[tokio::test(start_paused = true)]
    async fn an_adaptive_limit_rises_while_requests_wait_and_falls_when_they_are_refused() {
        let limiter = RateLimiter::adaptive(20.0, 200.0, 10);
        let (start, latency) = (Instant::now(), Duration::from_millis(5));
        for _ in 0..300 {
            limiter.acquire().await;
            limiter.ended(latency, Outcome::Answered);
        }
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        assert!((limiter.qps() - 200.0).abs() < 1.0, "{}", limiter.qps());
        limiter.ended(latency, Outcome::Refused(Duration::from_secs(1)));
        assert!((limiter.qps() - 100.0).abs() < 1.0, "{}", limiter.qps());
    }

    #[tokio::test(start_paused = true)]
    async fn a_separate_limiter_has_tokens_of_its_own_at_the_first_rate() {
        let limiter = RateLimiter::adaptive(20.0, 200.0, 1);
        assert!(limiter.try_acquire(1));
        limiter.ended(Duration::from_millis(5), Outcome::Refused(Duration::from_secs(1)));
        let separate = limiter.separate();
        assert!((separate.qps() - 20.0).abs() < 1e-9 && separate.burst() == 1, "{separate:?}");
        assert!(separate.try_acquire(1));
        assert!(!separate.try_acquire(1));
        assert!(RateLimiter::new(-1.0, 0).separate().qps().is_infinite());
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_that_are_given_back_are_there_at_once() {
        let limiter = RateLimiter::new(1.0, 50);
        assert!(limiter.try_acquire(50));
        limiter.give_back(49);
        assert!(limiter.try_acquire(49) && !limiter.try_acquire(1));
        limiter.give_back(50);
        tokio::time::advance(Duration::from_secs(3600)).await;
        limiter.give_back(50);
        assert!(limiter.try_acquire(50) && !limiter.try_acquire(1), "a quiet hour does not add to the burst");
    }
}
