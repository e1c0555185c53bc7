//! Waiting: poll a condition until it holds, with a limit and a reason.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

/// The limit for any condition in a test. Generous: only a failure reaches it.
pub const LIMIT: Duration = Duration::from_mins(1);

/// Intervals between two probes: at first, and once the condition has taken some time. Probes are requests, which take
/// CPU time from the programs under test.
const INTERVALS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(50)];

/// The time after which the interval becomes the longer one.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Polls `probe` until it returns a value. An `Err` is the reason why the condition does not hold yet.
///
/// # Panics
/// After `limit`, with `what` and the last reason.
pub async fn until<T, E, F>(what: &str, limit: Duration, mut probe: impl FnMut() -> F) -> T
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    let start = Instant::now();
    let mut reason = "no answer".to_owned();
    loop {
        // A probe that hangs must not outlive the limit either. The previous probe's reason is then the better one.
        let left = limit.saturating_sub(start.elapsed()).max(INTERVALS[0]);
        match tokio::time::timeout(left, probe()).await {
            Ok(Ok(value)) => return value,
            Ok(Err(error)) => reason = error.to_string(),
            Err(_) => {}
        }
        assert!(start.elapsed() < limit, "{what}: not within {} s: {reason}", limit.as_secs());
        tokio::time::sleep(INTERVALS[usize::from(start.elapsed() > AT_ONCE)]).await;
    }
}
