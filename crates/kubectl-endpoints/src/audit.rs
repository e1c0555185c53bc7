//! `audit`: what is wrong with the Endpoints and EndpointSlices of a cluster.

mod command;
mod consumers;
mod dns;
mod fix;
mod output;
mod proxy;
mod request;

use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::audit::{Audit as Findings, Repair, Severity, audit};
use endpoint_diagnostics::snapshot::Kind;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::exit::{self, Code, Failure};
use crate::files;
use crate::frame::Command;
use crate::progress::Progress;

use self::command::Audit;
use self::consumers::ConsumerFindings;

pub(crate) use command::{NAME, command, parse};

impl Command for Audit {
    async fn run(self) -> Result<Code, Failure> {
        let (gravest, is_complete) = run(&self).await?;
        Ok(match gravest {
            Some(gravest) if gravest >= self.severity => Code::Wrong,
            _ if is_complete => Code::Done,
            _ => Code::Undecided,
        })
    }
}

/// Returns the gravest severity found, or left after repairs, and whether all was compared that was asked for.
async fn run(command: &Audit) -> Result<(Option<Severity>, bool), Failure> {
    if !command.target.files.is_empty() {
        let snapshot = files::read(&command.target)?;
        check_namespace(command, &snapshot, "the input")?;
        let found = findings(command, &snapshot).without_explained();
        report(command, &found, &snapshot)?;
        return Ok((found.gravest(), is_applied(command, &found)));
    }
    let progress = Progress::start("Reading the cluster");
    let cluster = Cluster::of(&command.target, NAME).await?;
    let mut snapshot = cluster.read().await?;
    check_namespace(command, &snapshot, &cluster.server)?;
    let mut found = findings(command, &snapshot);
    if found.gravest().is_some_and(|gravest| gravest > Severity::Info) && !command.confirm_after.is_zero() {
        let count = found.findings.len();
        progress.step(move || format!("{count} findings: reading the cluster again, because some may pass"));
        sleep(command.confirm_after).await;
        snapshot = cluster.read().await?;
        found = findings(command, &snapshot).confirming(&found);
    }
    found = found.without_explained();
    let asked = ask(command, &cluster, &snapshot, &progress).await;
    found.add(asked.findings);
    drop(progress);
    report(command, &found, &snapshot)?;
    // After what was found without them.
    if let Some(failure) = asked.failure {
        return Err(failure);
    }
    if let Some(fix) = command.fix() {
        found.findings = fix::fix(&cluster, found.findings, fix).await?;
    }
    if let Some(touch) = command.touch() {
        let touches: Vec<Repair> = asked.touches.into_values().collect();
        fix::touch(&cluster, &touches, touch).await?;
    }
    Ok((found.gravest(), is_applied(command, &found) && !asked.is_incomplete))
}

/// Asks the consumers of slices that the command names.
async fn ask(
    command: &Audit,
    cluster: &Cluster,
    snapshot: &Snapshot,
    progress: &Progress,
) -> ConsumerFindings {
    let mut asked = ConsumerFindings::default();
    // The faster first, which is compared with the slices that were just read.
    if let Some(timeout) = command.proxy() {
        progress.step(|| "Reading the rules of kube-proxy".to_owned());
        asked.add(proxy::check(timeout, cluster, snapshot).await);
    }
    if let Some(dns) = command.dns() {
        progress.step(|| "Asking the DNS servers".to_owned());
        asked.add(dns::check(&dns, cluster, snapshot).await);
    }
    asked
}

/// Fails if the namespace is known not to exist, or if files have nothing in it; `place` is where.
fn check_namespace(command: &Audit, snapshot: &Snapshot, place: &str) -> Result<(), Failure> {
    let is_known = !command.target.files.is_empty() || snapshot.can_read(Kind::Namespaces);
    let exists = |name: &str| snapshot.namespaces().contains_key(name) || snapshot.namespace(name).is_some();
    match command.target.namespace.as_ref().filter(|name| is_known && !exists(name)) {
        Some(name) => Err(Failure::Input(format!("no namespace {name} in {place}"))),
        None => Ok(()),
    }
}

/// The findings of the rules and the namespace that were asked for.
fn findings(command: &Audit, snapshot: &Snapshot) -> Findings {
    let mut found = audit(snapshot, &command.options());
    let is_wanted =
        |rule: &str| command.rules.is_empty() || command.rules.iter().any(|wanted| wanted == rule);
    let namespace = command.target.namespace.as_deref();
    found.findings.retain(|finding| {
        is_wanted(finding.rule) && namespace.is_none_or(|namespace| finding.object.namespace == namespace)
    });
    found.skipped.retain(|skipped| is_wanted(skipped.rule));
    found
}

/// True unless a rule that was asked for by its name lacks objects.
fn is_applied(command: &Audit, found: &Findings) -> bool {
    command.rules.is_empty() || found.skipped.is_empty()
}

fn report(command: &Audit, found: &Findings, snapshot: &Snapshot) -> Result<(), Failure> {
    let mut shown = found.clone();
    if command.quiet {
        shown.findings.retain(|finding| finding.severity >= command.severity);
    }
    exit::show(&output::text(&shown, command.format, !command.no_headers))?;
    let namespace = command.target.namespace.as_deref();
    let services = snapshot.services().filter(|key| namespace.is_none_or(|name| *key.namespace == *name));
    for note in output::notes(&shown, services.count()) {
        exit::note(&note);
    }
    Ok(())
}
