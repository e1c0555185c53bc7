//! Numbers of Services.

use endpoint_diagnostics::ServiceReport;
use endpoint_diagnostics::report::Verdict;
use serde::Serialize;

/// The number of Services by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Summary {
    pub(super) services: usize,
    pub(super) ok: usize,
    pub(super) lagging: usize,
    pub(super) unknown: usize,
    pub(super) wrong: usize,
}

impl Summary {
    pub(super) fn of(reports: &[ServiceReport]) -> Self {
        let count = |verdict| reports.iter().filter(|report| report.verdict == verdict).count();
        Self {
            services: reports.len(),
            ok: count(Verdict::Ok),
            lagging: count(Verdict::Lagging),
            unknown: count(Verdict::Unknown),
            wrong: count(Verdict::Wrong),
        }
    }
}
