//! The causes of a retry.

use std::time::Duration;

use kube_api::ApiError;

/// The cause of a retry, which decides its delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The cache does not show our own writes yet. Not a failure: the event that updates the cache requeues the key. If
    /// that event never comes, the key is retried after [`STALE_CACHE_DELAY`]. Takes no token and does not count as a
    /// failure.
    StaleCache,
    /// A write met an object that is newer than the cached one. Not a failure either, but an event need not follow
    /// (quotas respond so too): the delay grows from [`RateLimit::base_delay`](super::RateLimit::base_delay) to
    /// [`MAX_CONFLICT_DELAY`], on a count of its own.
    Conflict,
    /// Any other failure.
    Failure {
        /// Identifies what failed. Consecutive failures with one fingerprint grow its delay; a fingerprint that the
        /// last sync did not fail with starts over. So a part of a key that fails for ever delays neither another part
        /// nor new content of its own.
        fingerprint: u64,
        /// The kind of failure.
        reason: FailureReason,
        /// The time that the API server asks to wait before the next try. Up to the longest delay, the key is not retried
        /// sooner.
        pause: Duration,
    },
}

/// The kind of a [`Cause::Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureReason {
    /// The API server refused a request for lack of permissions or quota (403).
    Forbidden,
    /// The API server refused a request for another reason.
    Refused,
    /// A request got no response, or one that says the server is overloaded or failing, or does not accept our credentials
    /// (401). This says nothing about the key, so it is retried every
    /// [`RateLimit::max_unavailable_delay`](super::RateLimit::max_unavailable_delay) at least.
    Unavailable,
    /// Another failure.
    Other,
}

/// The longest delay after a conflict that no event follows: an object that another client changes all the time costs
/// one write a minute.
pub const MAX_CONFLICT_DELAY: Duration = Duration::from_secs(60);
/// The delay of a retry for a stale cache, in case the event that should requeue the key never comes.
pub const STALE_CACHE_DELAY: Duration = Duration::from_secs(30);

impl Cause {
    /// A failure of no particular part.
    pub const FAILURE: Self =
        Self::Failure { fingerprint: 0, reason: FailureReason::Other, pause: Duration::ZERO };

    /// The failure of a request.
    pub fn of_request(fingerprint: u64, error: &ApiError) -> Self {
        let reason = if error.is_unavailable() || error.is_unauthorized() {
            FailureReason::Unavailable
        } else if error.is_forbidden() {
            FailureReason::Forbidden
        } else {
            FailureReason::Refused
        };
        Self::Failure { fingerprint, reason, pause: error.retry_after().unwrap_or_default() }
    }
}

impl FailureReason {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Other, Self::Forbidden, Self::Refused, Self::Unavailable];

    /// The name in logs and metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Other => "failed",
        }
    }
}

/// The reason of the first failure among the causes of a retry.
pub(super) fn failure_reason(causes: &[Cause]) -> Option<FailureReason> {
    causes.iter().find_map(|cause| match cause {
        Cause::Failure { reason, .. } => Some(*reason),
        Cause::StaleCache | Cause::Conflict => None,
    })
}

/// The reason of a retry: that of a failure if there is one, for logs and metrics.
pub(crate) fn reason(causes: &[Cause]) -> &'static str {
    match (failure_reason(causes), causes.first()) {
        (None, Some(Cause::StaleCache)) => "stale cache",
        (None, Some(Cause::Conflict)) => "conflict",
        (reason, _) => reason.unwrap_or(FailureReason::Other).name(),
    }
}
