//! Requests while the API server does not answer, as when an operator's change restarts it.

use std::time::Duration;

use kube_api::ApiError;
use kube_api::time::{Instant, sleep};

/// The pause between two observations. The time without a writer ends with one.
pub(super) const PERIOD: Duration = Duration::from_millis(500);
/// The time for which the API server may fail to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Sends requests again until the API server answers, at most for this time.
///
/// # Errors
/// The last one.
pub(super) async fn patiently<T>(
    time: Duration,
    mut requests: impl AsyncFnMut() -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    let start = Instant::now();
    loop {
        match requests().await {
            Err(error) if error.is_unavailable() && start.elapsed() < time => sleep(PERIOD).await,
            outcome => return outcome,
        }
    }
}
