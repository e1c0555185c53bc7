//! Reports as text.

use cli_runtime::printing;
use endpoint_diagnostics::ServiceReport;
use serde::Serialize;

use super::summary::Summary;
use super::table;
use crate::format::Format;

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
struct Document<'a> {
    summary: Summary,
    services: &'a [ServiceReport],
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
