//! `meta.v1.Status`: the response of an API server that refuses a request.

use std::time::Duration;

/// The API server's description of a refusal (`meta.v1.Status`).
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// A machine-readable reason, such as `Conflict`.
    pub reason: String,
    /// A human-readable description.
    pub message: String,
    /// The reasons of the causes listed in the details, such as `NamespaceTerminating`.
    pub causes: Vec<String>,
    /// The time to wait before the next try.
    pub retry_after: Option<Duration>,
}

impl Status {
    /// Reads a Status from its protobuf message without envelope.
    pub fn from_raw(raw: &[u8]) -> Result<Self, kube_protobuf::DecodeError> {
        let view = kube_protobuf::StatusView::parse(raw)?;
        Ok(Self {
            code: u16::try_from(view.code).unwrap_or_default(),
            reason: view.reason.to_owned(),
            message: view.message.to_owned(),
            causes: view.causes.iter().map(|&cause| cause.to_owned()).collect(),
            retry_after: seconds(view.retry_after_seconds),
        })
    }

    /// Converts a Status that came as JSON.
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
