//! A rate limit on log lines that any client can cause.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tracing::warn;

/// Lines per window.
const MAX_LINES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);

/// Allows ten lines a second, and logs the number of suppressed lines at the end of that second.
#[derive(Clone, Default)]
pub(crate) struct LogLimit(Arc<Mutex<Window>>);

#[derive(Default)]
struct Window {
    since: Option<Instant>,
    lines: u32,
    suppressed: u64,
}

impl LogLimit {
    /// True if a line may be logged now. Must be called on a tokio runtime, which logs the count of the others.
    pub(crate) fn allows(&self) -> bool {
        let mut window = self.0.lock();
        let now = Instant::now();
        // While lines are suppressed, the window ends when their count is logged.
        if window.suppressed == 0 && window.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            *window = Window { since: Some(now), ..Window::default() };
        }
        if window.lines < MAX_LINES {
            window.lines += 1;
            return true;
        }
        window.suppressed += 1;
        if window.suppressed == 1 {
            let (limit, end) = (self.clone(), window.since.unwrap_or(now) + WINDOW);
            tokio::spawn(async move {
                sleep(end.duration_since(Instant::now())).await;
                // Outside of the macro, which evaluates no argument if the log level is off.
                let count = limit.close();
                warn!(count, "Suppressed log lines that requests cause");
            });
        }
        false
    }

    /// Ends the window and returns the number of suppressed lines.
    fn close(&self) -> u64 {
        std::mem::take(&mut *self.0.lock()).suppressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn ten_lines_a_second_are_logged_and_the_others_counted() {
        let limit = LogLimit::default();
        let allowed = |lines: usize| (0..lines).filter(|_| limit.allows()).count();
        assert_eq!(allowed(3), 3);
        advance(Duration::from_millis(999)).await;
        assert_eq!(allowed(100), 7);
        assert_eq!(limit.0.lock().suppressed, 93);
        sleep(Duration::from_millis(10)).await;
        assert_eq!(limit.0.lock().suppressed, 0, "the count was logged");
        assert_eq!(allowed(100), 10);
        sleep(2 * WINDOW).await;
        for _ in 0..50 {
            assert_eq!(allowed(1), 1);
            advance(Duration::from_millis(101)).await;
        }
        assert_eq!(limit.0.lock().suppressed, 0);
    }
}
