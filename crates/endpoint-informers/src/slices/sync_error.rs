//! The failures of a sync, the same for every controller of slices.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use controller_kit::queue::{Cause, FailureReason};
use controller_kit::write::WriteError;
use endpointslice::desired::{Skipped, SkippedReason};
use kube_api::{ApiError, error_chain};
use kube_protobuf::DecodeError;

use crate::store::unreadable::UnreadableObject;

/// The cache does not show our own last writes yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("EndpointSlice informer cache is out of date")]
pub struct StaleCache;

/// A sync that must be retried.
#[derive(Debug)]
pub enum SyncError {
    /// The cache does not show our own last writes yet.
    StaleCache,
    /// Writes failed.
    Write(Vec<WriteError>),
    /// An object in the cache could not be decoded.
    Unreadable(DecodeError),
    /// An object that the sync depends on is not in the cache because it could not be decoded.
    Missing(UnreadableObject),
    /// The Service could not be read from the API server.
    Unclear(ApiError),
    /// Endpoints were skipped; everything else was written.
    Skipped(Vec<Skipped>),
}

impl SyncError {
    /// Fails if an endpoint was skipped for a reason that is [retryable](Skipped::is_retryable).
    pub fn unless_complete(skipped: &[Skipped]) -> Result<(), Self> {
        let missing: Vec<Skipped> =
            skipped.iter().filter(|skipped| skipped.is_retryable()).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(Self::Skipped(missing)) }
    }
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleCache => StaleCache.fmt(f),
            Self::Unreadable(error) => write!(f, "unreadable object in the cache: {error}"),
            Self::Missing(object) => object.fmt(f),
            Self::Unclear(error) => write!(f, "cannot read the Service: {}", error_chain(error)),
            Self::Write(errors) => f.write_str(&join_reasons(errors.iter().map(|error| error_chain(error)))),
            Self::Skipped(skipped) => f.write_str(&join_reasons(skipped.iter().map(describe))),
        }
    }
}

fn describe(skipped: &Skipped) -> String {
    match &skipped.reason {
        SkippedReason::NodeNotFound(node) => {
            format!("skipping Pod {}: Node {node:?} not found", skipped.name)
        }
        SkippedReason::AddressNotAllowed(address) => format!("skipping {address} of Pod {}", skipped.name),
    }
}

impl std::error::Error for SyncError {}

impl controller_kit::worker::SyncError for SyncError {
    fn causes(&self) -> Vec<Cause> {
        match self {
            Self::StaleCache => vec![Cause::StaleCache],
            Self::Write(errors) => errors.iter().map(WriteError::cause).collect(),
            Self::Unclear(error) => vec![Cause::of_request(0, error)],
            Self::Unreadable(_) | Self::Missing(_) => vec![Cause::FAILURE],
            // The back-off starts again when other pods or nodes are missing.
            Self::Skipped(skipped) => {
                let mut hasher = DefaultHasher::new();
                // All of them: the message names the first few.
                for skipped in skipped {
                    describe(skipped).hash(&mut hasher);
                }
                vec![Cause::Failure {
                    fingerprint: hasher.finish(),
                    reason: FailureReason::Other,
                    pause: Duration::ZERO,
                }]
            }
        }
    }

    fn is_written(&self) -> bool {
        matches!(self, Self::Skipped(_))
    }
}

impl From<StaleCache> for SyncError {
    fn from(StaleCache: StaleCache) -> Self {
        Self::StaleCache
    }
}

impl From<DecodeError> for SyncError {
    fn from(error: DecodeError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<UnreadableObject> for SyncError {
    fn from(object: UnreadableObject) -> Self {
        Self::Missing(object)
    }
}

/// The most reasons that a message lists.
const MAX_REASONS: usize = 5;

/// Joins reasons for a message: the first five, and the number of the others.
fn join_reasons(reasons: impl ExactSizeIterator<Item = String>) -> String {
    let count = reasons.len();
    let shown: Vec<String> = reasons.take(MAX_REASONS).collect();
    let shown = shown.join(", ");
    if count > MAX_REASONS { format!("{shown} and {} more", count - MAX_REASONS) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use controller_kit::worker::SyncError as _;

    #[test]
    fn only_a_missing_node_is_retried() {
        let node = Skipped { name: "web-1".into(), reason: SkippedReason::NodeNotFound("n1".into()) };
        let loopback = std::net::Ipv4Addr::LOCALHOST.into();
        let address = Skipped { name: "web-2".into(), reason: SkippedReason::AddressNotAllowed(loopback) };
        assert!(SyncError::unless_complete(&[]).is_ok());
        assert!(SyncError::unless_complete(std::slice::from_ref(&address)).is_ok());
        let error = SyncError::unless_complete(&[address, node]).unwrap_err();
        assert_eq!(error.to_string(), "skipping Pod web-1: Node \"n1\" not found");
        assert!(!error.is_transient() && SyncError::from(StaleCache).is_transient());
    }

    #[test]
    fn the_back_off_starts_again_for_another_pod_that_the_message_does_not_name() {
        let reason = SkippedReason::NodeNotFound("n1".into());
        let skip = |name: &str| Skipped { name: name.into(), reason: reason.clone() };
        let error = |last: &str| SyncError::Skipped(["a", "b", "c", "d", "e", last].map(skip).into());
        assert_eq!(error("f").to_string(), error("g").to_string());
        assert_eq!(error("f").causes(), error("f").causes());
        assert_ne!(error("f").causes(), error("g").causes());
    }
}
