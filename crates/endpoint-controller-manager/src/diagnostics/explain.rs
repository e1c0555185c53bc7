//! `explain`: the pods of a Service, and the reasons for which they are or are not in its slices and Endpoints.

mod command;
mod output;
mod table;
mod wait;

use std::ffi::OsString;
use std::process::ExitCode;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::report::Verdict;
use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics::{ServiceReport, Snapshot, explain, explain_all};
use tokio::runtime::Builder;

use super::cluster::Cluster;
use super::exit::{self, Failure};
use super::files;
use crate::options::{self, Parsed};
use command::Explanation;

pub(crate) use command::NAME;
#[cfg(test)]
pub(crate) use command::args;

/// Runs the subcommand with the words after its name. `usage` is the way in which it was called.
pub(super) fn main(usage: &'static str, words: &[OsString]) -> ExitCode {
    let explanation = match command::parse(usage, words) {
        Ok(explanation) => explanation,
        Err(Parsed::Print(text)) => return options::print(&text),
        Err(Parsed::Error(message)) => return options::print_error(&message),
        Err(Parsed::Run(_)) => return ExitCode::FAILURE,
    };
    let runtime = Builder::new_current_thread().enable_all().build();
    let reports = match runtime {
        Ok(runtime) => {
            let reports = runtime.block_on(reports(&explanation));
            runtime.shutdown_background();
            reports
        }
        Err(error) => Err(Failure::Access(format!("cannot start threads: {error}"))),
    };
    match reports {
        Ok(reports) => {
            exit::print(&output::text(&reports, explanation.format, explanation.is_detailed()));
            code(&reports).into()
        }
        Err(failure) => failure.report(),
    }
}

async fn reports(explanation: &Explanation) -> Result<Vec<ServiceReport>, Failure> {
    if !explanation.target.files.is_empty() {
        let snapshot = files::read(&explanation.target)?;
        return select(explanation, &snapshot, explanation.target.namespace.as_deref(), "the input");
    }
    let cluster = Cluster::of(&explanation.target).await?;
    if let Some(wait) = &explanation.wait {
        return wait::wait(explanation, &cluster, wait).await;
    }
    let snapshot = cluster.read().await?;
    select(explanation, &snapshot, cluster.namespace.as_deref(), &cluster.server)
}

/// The reports that were asked for.
fn select(
    explanation: &Explanation,
    snapshot: &Snapshot,
    namespace: Option<&str>,
    place: &str,
) -> Result<Vec<ServiceReport>, Failure> {
    if explanation.services.is_empty() {
        let mut reports = explain_all(snapshot);
        reports.retain(|report| namespace.is_none_or(|namespace| report.namespace == namespace));
        return Ok(noted(snapshot, reports));
    }
    let mut reports = vec![];
    for name in &explanation.services {
        let keys: Vec<ObjectKey> = match namespace {
            Some(namespace) => vec![ObjectKey::new(namespace, name.as_str())],
            None => snapshot.services().filter(|key| *key.name == **name).collect(),
        };
        let found: Vec<ServiceReport> = keys.iter().filter_map(|key| explain(snapshot, key)).collect();
        if found.is_empty() {
            let of = namespace.map_or_else(String::new, |namespace| format!(" in namespace {namespace}"));
            return Err(Failure::Input(format!("no Service {name}{of} of {place}")));
        }
        reports.extend(found);
    }
    Ok(noted(snapshot, reports))
}

/// Says once which objects are missing, if that matters.
fn noted(snapshot: &Snapshot, reports: Vec<ServiceReport>) -> Vec<ServiceReport> {
    let is_undecided = reports.iter().any(|report| report.verdict == Verdict::Unknown);
    let missing = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Namespaces && !snapshot.can_read(*kind));
    let missing: Vec<&str> = missing.map(Kind::resource).collect();
    if is_undecided && !missing.is_empty() {
        exit::note(&format!(
            "Note: without {}, which may not be read or are not in the input, some verdicts are unknown",
            missing.join(", ")
        ));
    }
    reports
}

fn code(reports: &[ServiceReport]) -> u8 {
    match reports.iter().map(|report| report.verdict).max() {
        None | Some(Verdict::Ok | Verdict::Lagging) => {
            // A late Service hides another one that is undecided.
            let is_undecided = reports.iter().any(|report| report.verdict == Verdict::Unknown);
            if is_undecided { exit::UNDECIDED } else { exit::IN_ORDER }
        }
        Some(Verdict::Unknown) => exit::UNDECIDED,
        Some(Verdict::Wrong) => exit::WRONG,
    }
}
