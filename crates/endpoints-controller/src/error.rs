//! The error of a sync.

use controller_kit::key::ObjectKey;
use controller_kit::queue::Cause;
use controller_kit::worker;
use controller_kit::write::WriteError;
use endpoint_informers::cache::UnreadableObject;
use kube_api::ApiError;
use kube_protobuf::DecodeError;

/// The error of a failed sync, which is retried.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The cache does not show our own last write yet.
    #[error("the cache does not show our own last write yet")]
    StaleCache,
    /// The write failed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The lookup of the Service failed.
    #[error("cannot tell whether Service {0} was deleted or belongs to another controller")]
    Unclear(ObjectKey, #[source] ApiError),
    /// The Endpoints in the cache could not be decoded.
    #[error("unreadable Endpoints in the cache")]
    Unreadable(#[from] DecodeError),
    /// An object that the sync needs could not be decoded.
    #[error(transparent)]
    Missing(#[from] UnreadableObject),
}

impl worker::SyncError for SyncError {
    fn causes(&self) -> Vec<Cause> {
        vec![match self {
            Self::StaleCache => Cause::StaleCache,
            Self::Write(error) => error.cause(),
            Self::Unclear(_, error) => Cause::of_request(0, error),
            Self::Unreadable(_) | Self::Missing(_) => Cause::FAILURE,
        }]
    }
}
