//! The origin of the reports.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::traffic::Traffic;
use endpoint_diagnostics::{Difference, Picture, ServiceReport};
use jiff::Timestamp;
use serde::Serialize;

use crate::board::Board;
use crate::history::{Entry, Timeline};
use crate::search::Found;

/// Keeps a board up to date, and answers questions about single Services and times.
pub trait Source: Send + Sync + 'static {
    /// The board of this source.
    fn board(&self) -> &Board;

    /// The report on a Service as of now; none if there is no such Service.
    fn report(&self, key: &ObjectKey) -> Option<ServiceReport>;

    /// All that is known of a Service; none if there is no such Service.
    fn view(&self, key: &ObjectKey) -> Option<View>;

    /// The events of all Services, or of those of a namespace, in a span of time.
    fn timeline(&self, span: Span) -> Timeline;

    /// Services by a pod, an address, a node or a label.
    fn search(&self, query: &str) -> Found;
}

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
