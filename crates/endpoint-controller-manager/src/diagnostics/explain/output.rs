//! Reports as text.

use endpoint_diagnostics::ServiceReport;
use endpoint_diagnostics::report::Verdict;
use serde::Serialize;

use super::command::Format;
use super::table;
use crate::printing;

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
struct Document<'a> {
    summary: Summary,
    services: &'a [ServiceReport],
}

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

/// Reports in a format; tables show each pod if `detailed`.
pub(super) fn text(reports: &[ServiceReport], format: Format, detailed: bool) -> String {
    let document = Document { summary: Summary::of(reports), services: reports };
    match format {
        Format::Json => printing::json(&document),
        Format::Yaml => printing::yaml(&document),
        Format::Table | Format::Wide if !detailed => {
            table::summary(reports, document.summary, format == Format::Wide)
        }
        Format::Table | Format::Wide => {
            let details: Vec<String> =
                reports.iter().map(|report| table::service(report, format == Format::Wide)).collect();
            details.join("\n")
        }
    }
}
