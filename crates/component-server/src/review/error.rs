//! Failure of a review, and its time limit.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use kube_api::ApiError;
use tokio::time::timeout;

/// Time limit of a review, retries included. Upstream allows as much for each attempt.
const LIMIT: Duration = Duration::from_secs(10);

/// A review without a result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReviewError {
    /// The API server did not respond, or refused the review. Shared by all requests that waited for it.
    #[error(transparent)]
    Api(Arc<ApiError>),
    /// The time limit of a request passed.
    #[error("no review within {} s", LIMIT.as_secs())]
    Timeout,
    /// Too many requests are waiting for a review already.
    #[error("too many requests are waiting for a review")]
    Busy,
    /// The token is invalid, the response contradictory or incomplete, or the API server reports that it could not decide.
    #[error("{0}")]
    Invalid(String),
}

impl From<ApiError> for ReviewError {
    fn from(error: ApiError) -> Self {
        Self::Api(Arc::new(error))
    }
}

impl ReviewError {
    /// True if the API server does not allow the request.
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Api(error) if error.is_forbidden())
    }

    /// Returns the status code that asks the client to retry; none if the error has other causes than load.
    pub(crate) fn retry_status(&self) -> Option<StatusCode> {
        match self {
            Self::Busy => Some(StatusCode::TOO_MANY_REQUESTS),
            Self::Timeout => Some(StatusCode::SERVICE_UNAVAILABLE),
            Self::Api(_) | Self::Invalid(_) => None,
        }
    }
}

/// Applies the time limit to a review.
pub(crate) async fn within_limit<T>(
    review: impl Future<Output = Result<T, ReviewError>>,
) -> Result<T, ReviewError> {
    timeout(LIMIT, review).await.unwrap_or(Err(ReviewError::Timeout))
}
