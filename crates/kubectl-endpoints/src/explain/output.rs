//! Reports as text.

use cli_runtime::printing;
use cli_runtime::text::one_line;
use endpoint_diagnostics::{ServiceReport, Traffic};
use serde::Serialize;

use super::command::Explanation;
use super::summary::Summary;
use super::table;
use crate::format::Format;

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
struct Document<'a> {
    summary: Summary,
    services: Vec<Shown<'a>>,
}

/// A report with its traffic.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: &'a ServiceReport,
    traffic: Option<Traffic>,
}

/// The form of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) format: Format,
    /// Tables show each pod.
    pub(super) is_detailed: bool,
    pub(super) headers: bool,
}

impl View {
    pub(super) fn of(explanation: &Explanation) -> Self {
        let (format, headers) = (explanation.format(), !explanation.no_headers);
        Self { format, is_detailed: explanation.is_detailed(), headers }
    }

    pub(super) fn is_table(self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }
}

/// Reports as text.
pub(super) fn text(reports: &[ServiceReport], view: View) -> String {
    let wide = view.format == Format::Wide;
    match view.format {
        Format::Json => printing::json(&document(reports)),
        Format::Yaml => printing::yaml(&document(reports)),
        Format::Name => {
            reports.iter().map(|report| one_line(format!("service/{}", report.name)) + "\n").collect()
        }
        Format::Table | Format::Wide if !view.is_detailed => {
            table::summary(reports, Summary::of(reports), wide, view.headers)
        }
        Format::Table | Format::Wide => {
            let details: Vec<String> =
                reports.iter().map(|report| table::service(report, wide, view.headers)).collect();
            details.join("\n")
        }
    }
}

/// The text of Services that have changed, below an earlier [`text`].
pub(super) fn changed(reports: &[ServiceReport], view: View) -> String {
    match view.format {
        Format::Table | Format::Wide if !view.is_detailed => {
            table::rows(reports, view.format == Format::Wide)
        }
        // As kubectl: one document follows the other.
        Format::Yaml => format!("---\n{}", text(reports, view)),
        Format::Table | Format::Wide => format!("\n{}", text(reports, view)),
        Format::Name | Format::Json => text(reports, view),
    }
}

fn document(reports: &[ServiceReport]) -> Document<'_> {
    let shown = |report| Shown { report, traffic: Traffic::of(report) };
    Document { summary: Summary::of(reports), services: reports.iter().map(shown).collect() }
}
