//! What can go wrong with a request.

use std::error::Error;
use std::time::Duration;

use hyper_util::client::legacy;

use crate::encoding::Encoding;

/// A request that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The API server refused.
    #[error("{0}")]
    Refused(Box<Status>),
    /// The API server could not be reached, or the connection broke.
    #[error("cannot reach the API server")]
    Transport(#[source] Box<dyn Error + Send + Sync>),
    /// No answer in time.
    #[error("no answer from the API server within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The answer makes no sense.
    #[error("malformed answer from the API server")]
    Malformed(#[source] Box<dyn Error + Send + Sync>),
    /// This process may not write, or not any more; see [`ApiClient::with_leadership`](super::ApiClient).
    #[error("not the leader")]
    NotLeader,
}

/// The API server's own words about a refusal (`meta.v1.Status`).
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// A word for programs, such as `Conflict`.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// The reasons of the causes listed in the details, such as `NamespaceTerminating`.
    pub causes: Vec<String>,
    /// How long to wait before trying again.
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// The answer cannot be read.
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

    /// The API server has not begun to act on this request: there was no connection, it was closed before the request
    /// was sent, or an HTTP/2 server said so. To send it again cannot do anything twice.
    ///
    /// Everything else that breaks a connection leaves open what was done.
    pub fn never_sent(&self) -> bool {
        self.is_unreachable()
            || self.has_cause(hyper::Error::is_canceled)
            || self.has_cause(|error: &h2::Error| is_unprocessed(error))
    }

    /// No connection could be made.
    pub fn is_unreachable(&self) -> bool {
        self.has_cause(legacy::Error::is_connect)
    }

    /// Whether an error of this type is behind it that is so.
    fn has_cause<E: Error + 'static>(&self, is_so: impl Fn(&E) -> bool) -> bool {
        let Self::Transport(error) = self else { return false };
        let mut cause: Option<&(dyn Error + 'static)> = Some(&**error);
        while let Some(error) = cause {
            if error.downcast_ref().is_some_and(&is_so) {
                return true;
            }
            cause = error.source();
        }
        false
    }

    /// How long the server asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.retry_after
    }

    /// The request was not judged: no answer came, or one that says that the server is in trouble. The same request may
    /// succeed at any moment.
    pub fn is_unavailable(&self) -> bool {
        self.status().is_none_or(|status| status.code >= 500 || status.code == 429)
    }

    /// The object doesn't exist.
    pub fn is_not_found(&self) -> bool {
        self.has_code(404)
    }

    /// The object has changed since it was read, or a precondition doesn't hold.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(|status| status.code == 409 && status.reason != "AlreadyExists")
    }

    /// An object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(|status| status.reason == "AlreadyExists")
    }

    /// The resourceVersion asked for is no longer (or not yet) available: start again with a list.
    pub fn is_expired(&self) -> bool {
        self.status()
            .is_some_and(|status| status.code == 410 || matches!(&*status.reason, "Expired" | "Gone"))
    }

    /// The request itself was not understood, as old servers answer to parameters they don't know.
    pub fn is_invalid(&self) -> bool {
        self.has_code(400) || self.has_code(422)
    }

    /// The namespace is being deleted, so nothing can be created in it any more.
    pub fn is_namespace_terminating(&self) -> bool {
        self.status().is_some_and(|status| status.causes.iter().any(|cause| cause == "NamespaceTerminating"))
    }
}

/// What an HTTP/2 server says of streams that it has not looked at (RFC 9113, 8.7): it refuses one, or goes away naming an
/// earlier one as its last. Only with that, `h2` ends a stream by a remote `GOAWAY` without an error.
fn is_unprocessed(error: &h2::Error) -> bool {
    let reason = error.reason().filter(|_| error.is_remote());
    (error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM))
        || (error.is_go_away() && reason == Some(h2::Reason::NO_ERROR))
}

impl Status {
    /// Reads the body of a refusal in either encoding; a body that isn't a Status becomes the message.
    pub fn from_answer(code: http::StatusCode, encoding: Encoding, body: &[u8]) -> Self {
        let parsed = match encoding {
            Encoding::Protobuf => Self::from_protobuf(body),
            Encoding::Json => serde_json::from_slice(body).ok().map(Self::from_json),
        };
        let mut status = parsed.unwrap_or_default();
        if status.code == 0 {
            status.code = code.as_u16();
        }
        if status.message.is_empty() {
            let text = String::from_utf8_lossy(body);
            let text: String = text.trim().chars().filter(|c| !c.is_control()).take(256).collect();
            let name = code.canonical_reason().unwrap_or("unknown status");
            status.message = if text.is_empty() { name.to_owned() } else { format!("{name}: {text}") };
        }
        status
    }

    fn from_protobuf(body: &[u8]) -> Option<Self> {
        let envelope = kube_protobuf::Unknown::parse(body).ok()?;
        Self::from_raw(envelope.raw).ok()
    }

    /// Reads a Status from its protobuf message without envelope.
    pub fn from_raw(raw: &[u8]) -> Result<Self, kube_protobuf::DecodeError> {
        let view = kube_protobuf::StatusView::parse(raw)?;
        Ok(Self {
            code: u16::try_from(view.code).unwrap_or_default(),
            reason: view.reason.to_owned(),
            message: view.message.to_owned(),
            causes: view.causes.iter().map(|cause| cause.reason.to_owned()).collect(),
            retry_after: seconds(view.retry_after_seconds),
        })
    }

    /// A refusal, from JSON.
    pub fn from_json(status: k8s_openapi::apimachinery::pkg::apis::meta::v1::Status) -> Self {
        let details = status.details.unwrap_or_default();
        Self {
            code: status.code.and_then(|code| u16::try_from(code).ok()).unwrap_or_default(),
            reason: status.reason.unwrap_or_default(),
            message: status.message.unwrap_or_default(),
            causes: details.causes.into_iter().flatten().filter_map(|cause| cause.reason).collect(),
            retry_after: seconds(details.retry_after_seconds.unwrap_or_default()),
        }
    }
}

fn seconds(seconds: i32) -> Option<Duration> {
    u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}
