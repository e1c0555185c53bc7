//! Findings as text.

use std::collections::BTreeSet;

use cli_runtime::printing::{self, aligned};
use cli_runtime::style::Tone;
use cli_runtime::text::one_line;
use endpoint_diagnostics::audit::{Audit, Finding, ObjectRef, Severity, Subject};
use serde::Serialize;

use crate::format::Format;

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
struct Document<'a> {
    summary: Summary,
    #[serde(flatten)]
    audit: &'a Audit,
}

/// The number of findings by severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Summary {
    errors: usize,
    warnings: usize,
    infos: usize,
}

impl Summary {
    fn of(findings: &[Finding]) -> Self {
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        Self {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
        }
    }
}

/// An audit in a format.
pub(super) fn text(audit: &Audit, format: Format, headers: bool) -> String {
    let document = || Document { summary: Summary::of(&audit.findings), audit };
    match format {
        Format::Json => printing::json(&document()),
        Format::Yaml => printing::yaml(&document()),
        Format::Table | Format::Wide if audit.findings.is_empty() => String::new(),
        Format::Name => {
            let objects: BTreeSet<String> =
                audit.findings.iter().map(|finding| object(&finding.object)).collect();
            objects.into_iter().map(|name| name + "\n").collect()
        }
        Format::Table | Format::Wide => table(&audit.findings, format == Format::Wide, headers),
    }
}

/// An object as kubectl prints it: `kind/name`, with the API group unless that is the core group.
fn object(object: &ObjectRef) -> String {
    let kind = match object.kind {
        Subject::Service => "service",
        Subject::Endpoints => "endpoints",
        Subject::EndpointSlice => "endpointslice.discovery.k8s.io",
    };
    format!("{kind}/{}", one_line(object.name.as_str()))
}

fn table(findings: &[Finding], wide: bool, headers: bool) -> String {
    let mut head = vec!["SEVERITY", "RULE", "NAMESPACE", "OBJECT"];
    head.extend(if wide { ["FIELD", "MESSAGE", "REMEDY"].as_slice() } else { ["MESSAGE"].as_slice() });
    let head: Vec<String> = head.into_iter().map(str::to_owned).collect();
    let rows = findings.iter().map(|finding| row(finding, wide));
    aligned(&headers.then_some(head).into_iter().chain(rows).collect::<Vec<Vec<String>>>())
}

fn row(finding: &Finding, wide: bool) -> Vec<String> {
    let Finding { rule, severity, object, field, message, remedy, .. } = finding;
    let tone = match severity {
        Severity::Error => Some(Tone::Bad),
        Severity::Warning => Some(Tone::Doubtful),
        Severity::Info => None,
    };
    let severity = tone.map_or_else(|| severity.name().to_owned(), |tone| tone.paint(severity.name()));
    let mut row = vec![
        severity,
        (*rule).to_owned(),
        object.namespace.clone(),
        format!("{}/{}", object.kind.name(), object.name),
    ];
    if wide {
        row.push(field.clone().unwrap_or_else(|| "<none>".to_owned()));
    }
    row.push(message.clone());
    if wide {
        row.push(remedy.clone());
    }
    row
}

/// Lines about an audit as a whole, for stderr.
pub(super) fn notes(audit: &Audit, services: usize) -> Vec<String> {
    let Summary { errors, warnings, infos } = Summary::of(&audit.findings);
    let mut notes = vec![format!("{services} Services: {errors} errors, {warnings} warnings, {infos} infos")];
    let needs: BTreeSet<&str> = audit.skipped.iter().flat_map(|skipped| &skipped.needs).copied().collect();
    let rules: Vec<&str> = audit.skipped.iter().map(|skipped| skipped.rule).collect();
    if !rules.is_empty() {
        notes.push(format!(
            "Note: without {}, which may not be read or are not in the input, these rules were not applied: {}",
            needs.into_iter().collect::<Vec<_>>().join(", "),
            rules.join(", ")
        ));
    }
    notes
}
