//! Lines of the log that strangers can cause.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tracing::warn;

/// Lines in a window.
const LINES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);

/// Lets ten lines a second through, and logs how many it did not, at the end of that second.
#[derive(Clone, Default)]
pub(crate) struct LogLimit(Arc<Mutex<Window>>);

#[derive(Default)]
struct Window {
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl LogLimit {
    /// True if a line may be written now. Needs a runtime, which counts the others.
    pub(crate) fn admits(&self) -> bool {
        let mut window = self.0.lock();
        let now = Instant::now();
        // As long as some are left out, their count is still to be logged.
        if window.left_out == 0 && window.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            *window = Window { since: Some(now), ..Window::default() };
        }
        if window.lines < LINES {
            window.lines += 1;
            return true;
        }
        window.left_out += 1;
        if window.left_out == 1 {
            let (limit, end) = (self.clone(), window.since.unwrap_or(now) + WINDOW);
            tokio::spawn(async move {
                sleep(end.duration_since(Instant::now())).await;
                // Not inside the macro, which evaluates nothing for a log level that is off.
                let count = limit.close();
                warn!(count, "Left out lines about refused requests");
            });
        }
        false
    }

    /// Ends the window, and returns how many lines were left out.
    fn close(&self) -> u64 {
        std::mem::take(&mut *self.0.lock()).left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn ten_lines_a_second_and_a_count_of_the_others() {
        let limit = LogLimit::default();
        let admitted = |lines: usize| (0..lines).filter(|_| limit.admits()).count();
        assert_eq!(admitted(3), 3);
        advance(Duration::from_millis(999)).await;
        assert_eq!(admitted(100), 7);
        assert_eq!(limit.0.lock().left_out, 93);
        sleep(Duration::from_millis(10)).await;
        assert_eq!(limit.0.lock().left_out, 0, "they were told");
        assert_eq!(admitted(100), 10);
        sleep(2 * WINDOW).await;
        for _ in 0..50 {
            assert_eq!(admitted(1), 1);
            advance(Duration::from_millis(101)).await;
        }
        assert_eq!(limit.0.lock().left_out, 0);
    }
}
