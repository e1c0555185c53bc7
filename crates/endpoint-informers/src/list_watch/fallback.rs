//! The change from streaming lists to lists in pages.

use std::time::Duration;

use kube_api::time::Instant;

/// Remembers for a while that streaming lists failed.
///
/// One list that is refused as unknown or stays silent is enough. A list that breaks in another way may have met a
/// server that was about to restart; after three in a row, the cause will break the fourth as well, such as a proxy
/// that limits streams, or an API server under so much churn that it closes slow lists. client-go falls back only when
/// a streaming list is refused as invalid (`tools/cache/reflector.go`), and retries the others for ever.
///
/// The server may have been upgraded or overloaded meanwhile, so streaming is tried again: after ten minutes at first,
/// after up to six hours if it keeps failing. No request is sent for that: only the next list that is due is affected.
#[derive(Debug)]
pub(super) struct Fallback {
    until: Option<Instant>,
    next: Duration,
    /// The number of streaming lists in a row that broke.
    broken: u32,
}

/// The number of broken streaming lists in a row that counts as a refusal.
const MAX_BROKEN: u32 = 3;
const FIRST: Duration = Duration::from_secs(10 * 60);
const MAX: Duration = Duration::from_secs(6 * 60 * 60);

impl Default for Fallback {
    fn default() -> Self {
        Self { until: None, next: FIRST, broken: 0 }
    }
}

impl Fallback {
    /// True while lists must be requested in pages.
    pub(super) fn is_paged(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Records that a streaming list was refused or stayed silent. Further failures before the next attempt don't
    /// count.
    pub(super) fn streaming_failed(&mut self) {
        if !self.is_paged() {
            self.until = Some(Instant::now() + self.next);
            self.next = (self.next * 2).min(MAX);
            self.broken = 0;
        }
    }

    /// Records that a streaming list ended before it was complete, for whatever reason.
    pub(super) fn streaming_broke(&mut self) {
        self.broken += 1;
        if self.broken >= MAX_BROKEN {
            self.streaming_failed();
        }
    }

    /// Records that a streaming list was complete.
    pub(super) fn streaming_worked(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn streaming_is_retried_at_growing_intervals() {
        let mut fallback = Fallback::default();
        assert!(!fallback.is_paged());
        for minutes in [10, 20, 40, 80, 160, 320, 360, 360] {
            fallback.streaming_failed();
            tokio::time::advance(Duration::from_secs(minutes * 60 - 1)).await;
            fallback.streaming_failed();
            assert!(fallback.is_paged(), "{minutes}");
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(!fallback.is_paged(), "{minutes}");
        }
        fallback.streaming_worked();
        fallback.streaming_failed();
        tokio::time::advance(FIRST).await;
        assert!(!fallback.is_paged(), "a success starts over");
    }

    #[tokio::test(start_paused = true)]
    async fn three_broken_streams_in_a_row_count_as_a_refusal() {
        let mut fallback = Fallback::default();
        fallback.streaming_broke();
        fallback.streaming_broke();
        fallback.streaming_worked();
        for _ in 0..2 {
            fallback.streaming_broke();
            fallback.streaming_broke();
            assert!(!fallback.is_paged());
            fallback.streaming_broke();
            assert!(fallback.is_paged());
            tokio::time::advance(2 * FIRST).await;
        }
    }
}
