//! When to ask for lists in pages instead of streams.

use std::time::Duration;

use tokio::time::Instant;

/// Remembers that a streaming list did not work, for a while.
///
/// A server may have been upgraded meanwhile, and a silent one may only have been overloaded, so streaming is tried
/// again: after ten minutes at first, after up to six hours if it keeps failing. Nothing waits for that: the question
/// comes up only when a list is due.
#[derive(Debug)]
pub(super) struct Fallback {
    until: Option<Instant>,
    next: Duration,
}

const FIRST: Duration = Duration::from_secs(10 * 60);
const MAX: Duration = Duration::from_secs(6 * 60 * 60);

impl Default for Fallback {
    fn default() -> Self {
        Self { until: None, next: FIRST }
    }
}

impl Fallback {
    /// True while lists are to be asked for in pages.
    pub(super) fn is_paged(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// A streaming list was refused or stayed silent. Further failures before the next try don't count.
    pub(super) fn streaming_failed(&mut self) {
        if !self.is_paged() {
            self.until = Some(Instant::now() + self.next);
            self.next = (self.next * 2).min(MAX);
        }
    }

    /// A streaming list was complete.
    pub(super) fn streaming_worked(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn streaming_is_tried_again_ever_more_rarely() {
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
}
