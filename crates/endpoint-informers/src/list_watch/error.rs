//! Why a list or a watch failed.

use std::time::Duration;

use kube_api::ApiError;

/// A failure of a list or a watch. Every failure is retried.
#[derive(Debug, thiserror::Error)]
pub(super) enum WatchError {
    /// The request failed, or the server reported an error in the stream.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The body is not valid protobuf.
    #[error("malformed watch frame")]
    Protobuf(#[from] kube_protobuf::DecodeError),
    /// The body is not valid JSON.
    #[error("malformed watch event")]
    Json(#[from] serde_json::Error),
    /// An event of an unknown type.
    #[error("unknown watch event type {0:?}")]
    UnknownEvent(String),
    /// An event larger than any object that the API server can store.
    #[error("watch event larger than {0} bytes")]
    TooLarge(usize),
    /// The stream ended inside an event.
    #[error("watch was cut off inside an event")]
    Cut,
    /// Nothing arrived for so long that the connection is considered dead.
    #[error("watch timed out: no event or bookmark arrived in time")]
    Silent,
    /// A resumed watch was accepted, and then nothing arrived, not even a bookmark.
    #[error("resumed watch timed out before its first event or bookmark")]
    Mute,
    /// A resumed watch could not be shown for a long time to continue the history that the cache shows.
    #[error("resumed watch was not confirmed in time")]
    Unconfirmed,
    /// The response ended before the list did.
    #[error("list is incomplete")]
    Incomplete,
    /// A list has no resourceVersion, so that its moment is unknown.
    #[error("list has no resourceVersion")]
    NoVersion,
}

impl WatchError {
    /// The pause that the server asks for.
    pub(super) fn retry_after(&self) -> Duration {
        match self {
            Self::Api(error) => error.retry_after().unwrap_or_default(),
            _ => Duration::ZERO,
        }
    }

    /// True if the request was accepted and nothing followed.
    pub(super) fn is_silence(&self) -> bool {
        matches!(self, Self::Silent | Self::Api(ApiError::Timeout(_)))
    }

    /// True if the stream ended or fell silent without a reason: a proxy's idle timeout, a restart, a lost connection.
    pub(super) fn is_break(&self) -> bool {
        matches!(self, Self::Cut | Self::Silent | Self::Api(ApiError::Transport(_)))
    }

    /// True if the server was not reached, which says nothing about its features.
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Api(error) if error.is_unreachable())
    }

    /// True if a watch from the same resourceVersion would fail in the same way, so that a list is required.
    ///
    /// Malformed data may also have been damaged on the way, but a watch that receives the same data again and again
    /// would leave the cache outdated for ever.
    pub(super) fn requires_relist(&self) -> bool {
        match self {
            Self::Api(error) => error.is_expired() || error.is_invalid(),
            Self::Protobuf(_)
            | Self::Json(_)
            | Self::UnknownEvent(_)
            | Self::TooLarge(_)
            | Self::Mute
            | Self::Unconfirmed => true,
            Self::Cut | Self::Silent | Self::Incomplete | Self::NoVersion => false,
        }
    }

    /// True if the server no longer has the history after the resourceVersion.
    pub(super) fn is_expired(&self) -> bool {
        matches!(self, Self::Api(error) if error.is_expired())
    }

    /// True if the server doesn't support streaming lists.
    pub(super) fn is_unsupported(&self) -> bool {
        matches!(self, Self::Api(error) if error.is_invalid())
    }
}
