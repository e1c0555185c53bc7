//! `--fix`: shows the repairs, asks, and makes them.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use endpoint_diagnostics::audit::{Finding, ObjectRef, Repair};
use http::Request;

use super::command::{DryRun, Fix};
use super::request::{lookup, request};
use crate::diagnostics::cluster::Cluster;
use crate::diagnostics::exit::{Failure, note, print};

/// The outcome of one repair.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// The object has changed since it was looked at, or is gone.
    Changed,
    /// The object whose absence is the reason exists.
    Exists(ObjectRef),
    Refused(String),
}

/// Makes the repairs of findings. Returns the findings that are left.
///
/// # Errors
/// If there is no answer to the question.
pub(super) async fn fix(
    cluster: &Cluster,
    findings: Vec<Finding>,
    fix: Fix,
) -> Result<Vec<Finding>, Failure> {
    let repairs: Vec<&Repair> = findings.iter().filter_map(|finding| finding.repair.as_ref()).collect();
    if repairs.is_empty() {
        note(
            "Nothing to repair: --fix writes only objects of the controllers, and only what they do not repair themselves",
        );
        return Ok(findings);
    }
    let lines: Vec<String> = repairs.iter().map(ToString::to_string).collect();
    print(&format!("\nRepairs of {}:\n{}\n", cluster.server, lines.join("\n")));
    if fix.dry_run == DryRun::Client {
        note("Nothing was written (--dry-run=client)");
        return Ok(findings);
    }
    if !fix.yes && !asked(repairs.len())? {
        note("Nothing was written");
        return Ok(findings);
    }
    let is_dry = fix.dry_run == DryRun::Server;
    let mut left = Vec::new();
    for finding in findings {
        let Some(repair) = &finding.repair else {
            left.push(finding);
            continue;
        };
        let outcome = apply(cluster, repair, is_dry).await;
        note(&line(repair, &outcome, is_dry));
        if outcome != Outcome::Done || is_dry {
            left.push(finding);
        }
    }
    Ok(left)
}

/// Asks on the terminal.
fn asked(count: usize) -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::Input(
            "--fix asks before it writes, and stdin is no terminal: give --yes".to_owned(),
        ));
    }
    let _ = write!(std::io::stderr(), "Make these {count} writes? [y/N] ");
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.map_err(|error| Failure::Input(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

async fn apply(cluster: &Cluster, repair: &Repair, is_dry: bool) -> Outcome {
    if let Some(object) = repair.unless_exists() {
        match send(cluster, lookup(object)).await {
            Err(Outcome::Changed) => {}
            Ok(()) => return Outcome::Exists(object.clone()),
            Err(outcome) => return outcome,
        }
    }
    send(cluster, request(repair, is_dry)).await.err().unwrap_or(Outcome::Done)
}

async fn send(cluster: &Cluster, request: Result<Request<Vec<u8>>, http::Error>) -> Result<(), Outcome> {
    let request = request.map_err(|error| Outcome::Refused(error.to_string()))?;
    cluster.http().request_text(request).await.map(drop).map_err(|error| match error {
        kube::Error::Api(status) if matches!(status.code, 404 | 409) => Outcome::Changed,
        kube::Error::Api(status) => Outcome::Refused(status.message),
        error => Outcome::Refused(kube_api::error_chain(&error)),
    })
}

fn line(repair: &Repair, outcome: &Outcome, is_dry: bool) -> String {
    match outcome {
        Outcome::Done if is_dry => format!("would {repair} (server dry run)"),
        Outcome::Done => format!("done: {repair}"),
        Outcome::Changed => format!("left alone: {} has changed since, or is gone", repair.object()),
        Outcome::Exists(object) => format!("left alone: {}, because {object} exists", repair.object()),
        Outcome::Refused(reason) => format!("Error: cannot {repair}: {reason}"),
    }
}
