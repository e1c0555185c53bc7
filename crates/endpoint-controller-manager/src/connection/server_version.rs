//! The version of the API server, and whether this program is tested with it (docs/reference/versions.md).

use std::fmt;

use kube_api::{ApiClient, ApiError};
use serde_json::Value;

use crate::gates::{Minor, Versions};

/// The version of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerVersion {
    /// As in `v1.37.2`.
    pub text: String,
    /// The number after `1.`; none if the text is none of Kubernetes' versions.
    pub minor: Option<u16>,
}

/// A reason to distrust the combination of an API server and this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skew {
    /// The message: which versions do not fit.
    pub message: String,
    /// The action that resolves it.
    pub remedy: String,
}

impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.message, self.remedy)
    }
}

impl ServerVersion {
    /// Reads the response to `/version`.
    pub fn parse(answer: &Value) -> Self {
        let text = |field| answer.get(field).and_then(Value::as_str).unwrap_or_default();
        // Distributions append a plus sign.
        let minor = text("minor").trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok();
        Self { text: text("gitVersion").to_owned(), minor: minor.filter(|_| text("major") == "1") }
    }

    /// Returns what is wrong with a program of these versions on such an API server. Like kube-controller-manager, it must
    /// not be newer than the API server.
    pub fn skew(&self, versions: Versions) -> Option<Skew> {
        let text = &self.text;
        let skew = |message: String, remedy: String| Some(Skew { message, remedy });
        let Some(minor) = self.minor.map(Minor::new) else {
            return skew(
                format!("The API server's version {text} is none of Kubernetes'"),
                "Try endpoint-controller-manager on a test cluster of the same version".to_owned(),
            );
        };
        let (oldest, newest) = (Minor::KNOWN.start(), Minor::KNOWN.end());
        let emulated = versions.emulated();
        if minor < *oldest {
            skew(
                format!("The API server is {text}, older than {oldest}, the oldest supported release"),
                "Upgrade the API server first".to_owned(),
            )
        } else if minor > *newest {
            skew(
                format!("The API server is {text}, newer than {newest}, the newest supported release"),
                "Use a release of endpoint-controller-manager that supports it".to_owned(),
            )
        } else if emulated > minor {
            skew(
                format!(
                    "The API server is {text}, and endpoint-controller-manager behaves as {emulated}: components are \
                     never newer"
                ),
                format!(
                    "Give {} to the program and its diagnostics; or upgrade the API server first",
                    flag(minor)
                ),
            )
        } else {
            None
        }
    }
}

/// The flag with which this program behaves as a release.
pub fn flag(release: Minor) -> String {
    format!("--emulated-version={release}")
}

/// Reads the version of the API server; none if that is refused. The error is that of a request without a response.
pub(crate) async fn read(client: &ApiClient) -> Result<Option<ServerVersion>, ApiError> {
    match client.get_raw("/version").await {
        // A response that is not JSON is not a version of Kubernetes either.
        Ok(answer) => Ok(Some(ServerVersion::parse(&serde_json::from_slice(&answer).unwrap_or_default()))),
        // Permissions may come later.
        Err(ApiError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
