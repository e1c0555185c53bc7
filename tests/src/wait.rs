//! Waiting: poll a condition until it holds, with a limit and a reason.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

/// How long anything may take before a test gives up. Generous: it is only ever reached by a failure.
pub const LIMIT: Duration = Duration::from_mins(1);

/// How often a condition is looked at.
const INTERVAL: Duration = Duration::from_millis(10);

/// Polls `probe` until it gives a value. An `Err` is the reason why it is not there yet.
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
        // A probe that hangs must not outlive the limit either. What the one before said is the better reason then.
        let left = limit.saturating_sub(start.elapsed()).max(INTERVAL);
        match tokio::time::timeout(left, probe()).await {
            Ok(Ok(value)) => return value,
            Ok(Err(error)) => reason = error.to_string(),
            Err(_) => {}
        }
        assert!(start.elapsed() < limit, "{what}: not within {} s: {reason}", limit.as_secs());
        tokio::time::sleep(INTERVAL).await;
    }
}
