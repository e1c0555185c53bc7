//! A record of each request, for tests and demonstrations.

use jiff::Timestamp;
use serde_json::Value;

/// One request for objects, when its response begins.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEvent {
    /// `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The resource, such as `pods`.
    pub resource: String,
    /// `status`, …, or empty for the object itself.
    pub subresource: String,
    /// The namespace of the path; empty for all, and for cluster-scoped kinds.
    pub namespace: String,
    /// The name of the path, or of the created object; empty for collections.
    pub name: String,
    /// The user, by the token of the request; see [`Builder::token`](crate::Builder::token).
    pub user: String,
    /// The program of the client.
    pub user_agent: String,
    /// The HTTP status code.
    pub code: u16,
    /// The time at which the request came.
    pub received: Timestamp,
    /// The time at which the response began.
    pub answered: Timestamp,
    /// The body of a write as a tree: the object, the patch, or the options of a deletion. Absent if there is none or it is
    /// malformed.
    pub request_object: Option<Value>,
}

/// Receives the events.
pub(crate) type Auditor = dyn Fn(&AuditEvent) + Send + Sync;
