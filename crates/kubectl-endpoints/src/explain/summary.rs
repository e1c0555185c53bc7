//! Numbers of Services.

use endpoint_diagnostics::report::Verdict;
use endpoint_diagnostics::{ServiceReport, Traffic};
use serde::Serialize;

/// The number of Services by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) services: usize,
    /// Services to which connections fail.
    pub(crate) without_traffic: usize,
    pub(crate) ok: usize,
    pub(crate) lagging: usize,
    pub(crate) unknown: usize,
    pub(crate) wrong: usize,
}

impl Summary {
    pub(crate) fn of(reports: &[ServiceReport]) -> Self {
        let count = |verdict| reports.iter().filter(|report| report.verdict == verdict).count();
        let has_none = |report: &&ServiceReport| Traffic::of(report).is_some_and(|traffic| traffic.is_none());
        Self {
            services: reports.len(),
            without_traffic: reports.iter().filter(has_none).count(),
            ok: count(Verdict::Ok),
            lagging: count(Verdict::Lagging),
            unknown: count(Verdict::Unknown),
            wrong: count(Verdict::Wrong),
        }
    }
}
