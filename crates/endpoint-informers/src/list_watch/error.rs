//! Why a watch ended.

use std::time::Duration;

use kube_api::ApiError;

/// A list or watch that did not go as planned. All of them are retried.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The request failed, or the server said so in the stream.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The protobuf on the wire makes no sense.
    #[error("malformed watch frame")]
    Protobuf(#[from] kube_protobuf::DecodeError),
    /// The JSON on the wire makes no sense.
    #[error("malformed watch event")]
    Json(#[from] serde_json::Error),
    /// An event of a type that doesn't exist.
    #[error("unknown watch event type {0:?}")]
    UnknownEvent(String),
    /// An event larger than anything the API server can store.
    #[error("watch event over {0} bytes")]
    TooLarge(usize),
    /// The stream ended inside an event.
    #[error("the watch was cut off inside an event")]
    Cut,
    /// Nothing came for so long that the connection is thought dead.
    #[error("the watch went silent")]
    Silent,
    /// Resumed, accepted, and then not a word, not even a bookmark.
    #[error("the watch said nothing at all")]
    Mute,
    /// The watch or answer with a list ended before the list did.
    #[error("the list is incomplete")]
    Incomplete,
    /// A list doesn't say of which moment it is.
    #[error("the list has no resourceVersion")]
    NoVersion,
}

impl WatchError {
    /// How long the server asks to wait.
    pub(super) fn retry_after(&self) -> Duration {
        match self {
            Self::Api(error) => error.retry_after().unwrap_or_default(),
            _ => Duration::ZERO,
        }
    }

    /// A connection that was accepted, and then nothing.
    pub(super) fn is_silence(&self) -> bool {
        matches!(self, Self::Silent | Self::Api(ApiError::Timeout(_)))
    }

    /// The stream ended or fell silent without a word about why: a proxy's idle timeout, a restart, a lost connection.
    pub(super) fn is_break(&self) -> bool {
        matches!(self, Self::Cut | Self::Silent | Self::Api(ApiError::Transport(_)))
    }

    /// The server was not reached, so this says nothing about what it can do.
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Api(error) if error.is_unreachable())
    }

    /// Going on from the same place would fail in the same way: list again.
    ///
    /// What came may also have been damaged on its way, but nobody can tell, and a watch that meets the same nonsense
    /// again and again would let the cache grow old without end.
    pub(super) fn leads_nowhere(&self) -> bool {
        match self {
            Self::Api(error) => error.is_expired() || error.is_invalid(),
            Self::Protobuf(_) | Self::Json(_) | Self::UnknownEvent(_) | Self::TooLarge(_) | Self::Mute => {
                true
            }
            Self::Cut | Self::Silent | Self::Incomplete | Self::NoVersion => false,
        }
    }

    /// The place in history to go on from is gone.
    pub(super) fn is_expired(&self) -> bool {
        matches!(self, Self::Api(error) if error.is_expired())
    }

    /// The server doesn't know streaming lists.
    pub(super) fn is_unsupported(&self) -> bool {
        matches!(self, Self::Api(error) if error.is_invalid())
    }
}
