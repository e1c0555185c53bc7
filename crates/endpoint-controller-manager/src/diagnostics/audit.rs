//! `audit`: what is wrong with the Endpoints and EndpointSlices of a cluster.

mod command;
mod fix;
mod output;
mod request;

use std::ffi::OsString;
use std::process::ExitCode;

use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::audit::{Audit as Findings, Severity, audit};
use endpoint_diagnostics::snapshot::Kind;
use tokio::runtime::Builder;
use tokio::time::sleep;

use super::cluster::Cluster;
use super::exit::{self, Failure};
use super::files;
use crate::options::{self, Parsed};
use command::Audit;

#[cfg(test)]
pub(crate) use command::args;
pub(crate) use command::{NAME, command};

/// Runs the subcommand with the words after its name.
pub(crate) fn main(words: &[OsString]) -> ExitCode {
    let command = match command::parse(words) {
        Ok(command) => command,
        Err(Parsed::Print(text)) => return options::print(&text),
        Err(Parsed::Error(message)) => return options::print_error(&message),
        Err(Parsed::Run(_)) => return ExitCode::FAILURE,
    };
    let gravest = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let gravest = runtime.block_on(run(&command));
            runtime.shutdown_background();
            gravest
        }
        Err(error) => Err(Failure::Access(format!("cannot start threads: {error}"))),
    };
    match gravest {
        Ok(gravest) if gravest.is_some_and(|gravest| gravest >= command.severity) => exit::WRONG.into(),
        Ok(_) => exit::IN_ORDER.into(),
        Err(failure) => failure.report(),
    }
}

/// Returns the gravest severity found, or left after repairs.
async fn run(command: &Audit) -> Result<Option<Severity>, Failure> {
    if !command.target.files.is_empty() {
        let snapshot = files::read(&command.target)?;
        let found = look(command, &snapshot);
        report(command, &found, snapshot.services().count());
        return Ok(found.gravest());
    }
    let cluster = Cluster::of(&command.target, NAME).await?;
    let mut snapshot = cluster.read().await?;
    check_namespace(command, &snapshot, &cluster.server)?;
    let mut found = look(command, &snapshot);
    if found.gravest().is_some_and(|gravest| gravest > Severity::Info) && !command.confirm_after.is_zero() {
        sleep(command.confirm_after).await;
        snapshot = cluster.read().await?;
        found = look(command, &snapshot).confirming(&found);
    }
    report(command, &found, snapshot.services().count());
    let Some(fix) = command.fix else { return Ok(found.gravest()) };
    found.findings = fix::fix(&cluster, found.findings, fix).await?;
    Ok(found.gravest())
}

/// Fails if the namespace is known not to exist.
fn check_namespace(command: &Audit, snapshot: &Snapshot, server: &str) -> Result<(), Failure> {
    let is_missing =
        |name: &&String| snapshot.can_read(Kind::Namespaces) && !snapshot.namespaces().contains_key(*name);
    match command.target.namespace.as_ref().filter(is_missing) {
        Some(name) => Err(Failure::Input(format!("no namespace {name} in {server}"))),
        None => Ok(()),
    }
}

/// The findings of the rules and the namespace that were asked for.
fn look(command: &Audit, snapshot: &Snapshot) -> Findings {
    let mut found = audit(snapshot, &command.options);
    let is_wanted =
        |rule: &str| command.rules.is_empty() || command.rules.iter().any(|wanted| wanted == rule);
    let namespace = command.target.namespace.as_deref();
    found.findings.retain(|finding| {
        is_wanted(finding.rule) && namespace.is_none_or(|namespace| finding.object.namespace == namespace)
    });
    found.skipped.retain(|skipped| is_wanted(skipped.rule));
    found
}

fn report(command: &Audit, found: &Findings, services: usize) {
    let mut shown = found.clone();
    if command.quiet {
        shown.findings.retain(|finding| finding.severity >= command.severity);
    }
    exit::print(&output::text(&shown, command.format));
    for note in output::notes(&shown, services) {
        exit::note(&note);
    }
}
