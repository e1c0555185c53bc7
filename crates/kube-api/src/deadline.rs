//! The bound on a wait for the API server.

use std::time::Duration;

use crate::time::timeout;

use crate::error::ApiError;

/// Awaits `request`, or drops it after `limit` and returns [`ApiError::Timeout`].
pub(crate) async fn within<T>(
    limit: Duration,
    request: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    timeout(limit, request).await.map_err(|_| ApiError::Timeout(limit))?
}
