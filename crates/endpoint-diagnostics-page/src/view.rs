//! A Service as a page shows it, and a span of time.

use std::sync::Arc;

use endpoint_diagnostics::traffic::Traffic;
use endpoint_diagnostics::{Difference, Picture, ServiceReport};
use jiff::Timestamp;
use serde::Serialize;

use crate::history::Entry;

/// A Service with all that a page shows of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// The report.
    pub report: ServiceReport,
    /// The endpoints that can receive connections; none if the question does not arise.
    pub traffic: Option<Traffic>,
    /// The writes by which stored objects become what they should be.
    pub differences: Vec<Difference>,
    /// The number of fields that are left out there.
    pub omitted: usize,
    /// The stored endpoints.
    #[serde(flatten)]
    pub picture: Picture,
    /// The events, the newest first.
    pub timeline: Vec<Arc<Entry>>,
    /// The time from which changes have been seen, in milliseconds since the epoch.
    pub watched: i64,
    /// The time of the report, in milliseconds since the epoch.
    pub now: i64,
}

/// A span of time, and whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first moment.
    pub since: Timestamp,
    /// The last moment.
    pub until: Timestamp,
    /// The namespace; none for all.
    pub namespace: Option<String>,
}
