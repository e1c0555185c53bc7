//! The reports of the Services that were asked for.

use std::collections::BTreeMap;
use std::sync::Once;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::report::Verdict;
use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics::{ServiceReport, Snapshot, explain, explain_all};

use super::command::Explanation;
use crate::exit::{self, Failure};

/// One note, however often a command looks.
static NOTED: Once = Once::new();

/// The reports that were asked for: of named Services, else of all, in a namespace, else in all.
///
/// # Errors
/// A line about a Service that does not exist; `place` is where.
pub(super) fn select(
    explanation: &Explanation,
    snapshot: &Snapshot,
    namespace: Option<&str>,
    place: &str,
) -> Result<Vec<ServiceReport>, Failure> {
    let (reports, missing) = present(explanation, snapshot, namespace);
    if let Some(name) = missing {
        let of = namespace.map_or_else(String::new, |namespace| format!(" in namespace {namespace}"));
        return Err(Failure::Input(format!("no Service {name}{of} of {place}")));
    }
    Ok(reports)
}

/// The same of the Services that exist, with the first name of one that does not.
pub(super) fn present<'a>(
    explanation: &'a Explanation,
    snapshot: &Snapshot,
    namespace: Option<&str>,
) -> (Vec<ServiceReport>, Option<&'a str>) {
    if explanation.services.is_empty() {
        let mut reports = explain_all(snapshot);
        reports.retain(|report| {
            namespace.is_none_or(|namespace| report.namespace == namespace)
                && has_labels(explanation, snapshot, report)
        });
        return (noted(snapshot, reports), None);
    }
    let (mut reports, mut missing) = (vec![], None);
    for name in &explanation.services {
        let keys: Vec<ObjectKey> = match namespace {
            Some(namespace) => vec![ObjectKey::new(namespace, name.as_str())],
            None => snapshot.services().filter(|key| *key.name == **name).collect(),
        };
        let found: Vec<ServiceReport> = keys.iter().filter_map(|key| explain(snapshot, key)).collect();
        if found.is_empty() {
            missing = missing.or(Some(name.as_str()));
        }
        reports.extend(found);
    }
    (noted(snapshot, reports), missing)
}

/// True if the Service has the labels that were asked for.
fn has_labels(explanation: &Explanation, snapshot: &Snapshot, report: &ServiceReport) -> bool {
    let Some(selector) = &explanation.selector else { return true };
    let key = ObjectKey::new(report.namespace.as_str(), report.name.as_str());
    let labels = snapshot.service(&key).and_then(|entry| entry.object.metadata.labels.as_ref());
    labels.map_or_else(|| selector.selects(&BTreeMap::new()), |labels| selector.selects(labels))
}

/// Says once which objects are missing, if that matters.
fn noted(snapshot: &Snapshot, reports: Vec<ServiceReport>) -> Vec<ServiceReport> {
    let is_undecided = reports.iter().any(|report| report.verdict == Verdict::Unknown);
    let missing =
        Kind::ALWAYS.into_iter().filter(|kind| *kind != Kind::Namespaces && !snapshot.can_read(*kind));
    let missing: Vec<&str> = missing.map(Kind::resource).collect();
    if is_undecided && !missing.is_empty() {
        NOTED.call_once(|| {
            exit::note(&format!(
                "Note: without {}, which may not be read or are not in the input, some verdicts are unknown",
                missing.join(", ")
            ));
        });
    }
    reports
}
