//! `preflight`: what an operator should know before this program takes over from kube-controller-manager, and after.
//!
//! ```text
//! flags ─> gather (requests) ─> Facts ─> checks ─> Vec<Check> ─> text, JSON
//! ```

mod built_ins;
mod check;
mod checks;
mod command;
mod facts;
mod gather;
mod lease;
mod output;
mod rights;
mod subject;
mod unknown;
mod writers;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::Builder;

use super::cluster::Cluster;
use super::exit::{self, Failure};
use crate::config::Config;
use crate::options::{self, Parsed};
use command::Preflight;

pub(crate) use built_ins::Entries;
pub(crate) use check::{Check, DELETIONS, OWN_LEASE, Status, UPSTREAM_LEASE};
pub(crate) use subject::Subject;

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
    let code = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(report(&command));
            runtime.shutdown_background();
            code
        }
        Err(error) => Err(Failure::Access(format!("cannot start threads: {error}"))),
    };
    match code {
        Ok(code) => code.into(),
        Err(failure) => failure.report(),
    }
}

/// Prints the checks, and returns the exit code.
async fn report(command: &Preflight) -> Result<u8, Failure> {
    let cluster = Cluster::of(&command.target, NAME).await?;
    let checks = run(&cluster, &command.config, &command.subject, command.confirm_after).await?;
    exit::print(&output::text(&cluster.server, &checks, command.format));
    exit::note(&output::note(&cluster.server, &checks));
    Ok(output::code(&checks))
}

/// Makes all checks of a cluster for a program with this configuration, which runs as this user.
///
/// It reads, and creates access reviews. What the first plans change is looked for up to five times, `confirm_after` apart,
/// as long as something is the same each time; zero looks once.
///
/// # Errors
/// A line about an API server that cannot be reached, or that does not know the caller.
pub(crate) async fn run(
    cluster: &Cluster,
    config: &Config,
    subject: &Subject,
    confirm_after: Duration,
) -> Result<Vec<Check>, Failure> {
    let facts = gather::gather(cluster, config, subject, confirm_after).await?;
    Ok(checks::checks(&facts, config, subject))
}
