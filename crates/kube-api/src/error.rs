//! Errors of requests.

use std::error::Error;
use std::time::Duration;

use hyper_util::client::legacy;

use crate::status::Status;

/// A failed request.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The API server refused the request.
    #[error("{0}")]
    Refused(Box<Status>),
    /// The API server could not be reached, or the connection broke.
    #[error("cannot reach the API server")]
    Transport(#[source] Box<dyn Error + Send + Sync>),
    /// No response came in time.
    #[error("no response from the API server within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The response could not be decoded, or was too large.
    #[error("malformed response from the API server")]
    Malformed(#[source] Box<dyn Error + Send + Sync>),
    /// This process does not hold the Lease, or lost it during the request; see
    /// [`ApiClient::with_leadership`](crate::ApiClient::with_leadership).
    #[error("not the leader")]
    NotLeader,
    /// This client [only reads](crate::ApiClient::read_only).
    #[error("refused to send a write: this client only reads")]
    ReadOnly,
}

impl ApiError {
    /// Wraps an error in decoding the response.
    pub fn malformed(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Malformed(Box::new(error))
    }

    fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused(status) => Some(status),
            _ => None,
        }
    }

    fn has_code(&self, code: u16) -> bool {
        self.status().is_some_and(|status| status.code == code)
    }

    /// True if the API server has not begun to process this request: there was no connection, it was closed before the
    /// request was sent, or an HTTP/2 server said so. Sending the request again cannot apply it twice.
    ///
    /// After any other transport error the outcome of the request is unknown.
    pub fn never_sent(&self) -> bool {
        self.is_unreachable()
            || self.has_cause(hyper::Error::is_canceled)
            || self.has_cause(|error: &h2::Error| is_unprocessed(error))
    }

    /// True if no connection could be made.
    pub fn is_unreachable(&self) -> bool {
        self.has_cause(legacy::Error::is_connect)
    }

    /// True if one of the sources has this type and satisfies the predicate.
    fn has_cause<E: Error + 'static>(&self, predicate: impl Fn(&E) -> bool) -> bool {
        let Self::Transport(error) = self else { return false };
        let mut cause: Option<&(dyn Error + 'static)> = Some(&**error);
        while let Some(error) = cause {
            if error.downcast_ref().is_some_and(&predicate) {
                return true;
            }
            cause = error.source();
        }
        false
    }

    /// The time that the server asks to wait before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.retry_after
    }

    /// True if no response came, or one that says that the server is overloaded or failing (429, 5xx). The same request
    /// may succeed at any moment.
    pub fn is_unavailable(&self) -> bool {
        !matches!(self, Self::ReadOnly)
            && self.status().is_none_or(|status| status.code >= 500 || status.code == 429)
    }

    /// True if the API server does not accept the credentials.
    pub fn is_unauthorized(&self) -> bool {
        self.has_code(401)
    }

    /// True if the object doesn't exist.
    pub fn is_not_found(&self) -> bool {
        self.has_code(404)
    }

    /// True if the object has changed since it was read, or a precondition doesn't hold.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(|status| status.code == 409 && status.reason != "AlreadyExists")
    }

    /// True if an object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(|status| status.reason == "AlreadyExists")
    }

    /// True if the requested resourceVersion is no longer (or not yet) available: start again with a list.
    pub fn is_expired(&self) -> bool {
        self.status()
            .is_some_and(|status| status.code == 410 || matches!(&*status.reason, "Expired" | "Gone"))
    }

    /// True if the requested resourceVersion is later than any that the server has stored.
    pub fn is_too_new(&self) -> bool {
        self.status()
            .is_some_and(|status| status.causes.iter().any(|cause| cause == "ResourceVersionTooLarge"))
    }

    /// True if the request is invalid, as old servers respond to unknown parameters.
    pub fn is_invalid(&self) -> bool {
        self.has_code(400) || self.has_code(422)
    }

    /// True if the request was refused for lack of permissions, or by a quota.
    pub fn is_forbidden(&self) -> bool {
        self.has_code(403)
    }

    /// True if the namespace is being deleted, so nothing can be created in it any more.
    pub fn is_namespace_terminating(&self) -> bool {
        self.status().is_some_and(|status| status.causes.iter().any(|cause| cause == "NamespaceTerminating"))
    }
}

/// True for the errors by which an HTTP/2 server marks streams that it has not processed (RFC 9113, 8.7): it refuses a
/// stream, or sends `GOAWAY` with an earlier stream as the last one. `h2` ends a stream by a remote `GOAWAY` without an
/// error code only in that case.
fn is_unprocessed(error: &h2::Error) -> bool {
    let reason = error.reason().filter(|_| error.is_remote());
    (error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM))
        || (error.is_go_away() && reason == Some(h2::Reason::NO_ERROR))
}
