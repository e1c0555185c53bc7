//! `preflight`: what an operator should know before endpoint-controller-manager takes over, and after.
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
mod output;
mod permissions;
mod subject;
mod unknown;
mod writers;

use std::time::Duration;

use endpoint_controller_manager::config::Config;

use crate::cluster::Cluster;
use crate::exit::{self, Code, Failure};
use crate::frame::Command;
use crate::progress::Progress;
use command::Preflight;

pub(crate) use built_ins::Entries;
pub(crate) use check::{Check, DELETIONS, Status, UPSTREAM_LEASE};
#[cfg(test)]
pub(crate) use check::{Id, OWN_LEASE, VERSION};
pub(crate) use checks::UPSTREAM;
pub(crate) use subject::Subject;

pub(crate) use command::{NAME, command, parse};

impl Command for Preflight {
    async fn run(self) -> Result<Code, Failure> {
        let _progress = Progress::start("Checking the cluster");
        let cluster = Cluster::of(&self.target, NAME).await?;
        let checks =
            run(&cluster, &self.config, &self.subject, self.confirm_after, self.before_release).await?;
        exit::show(&output::text(&cluster.server, &checks, self.format))?;
        exit::note(&output::note(&cluster.server, &checks));
        Ok(output::code(&checks))
    }
}

/// Makes all checks of a cluster for a program with this configuration, which runs as this user.
///
/// It reads, and creates access reviews. What the first plans change is looked for up to five times, `confirm_after` apart,
/// as long as something is the same each time; zero looks once. `before_release` if the Lease is about to be released.
///
/// # Errors
/// A line about an API server that cannot be reached, or that does not know the caller.
pub(crate) async fn run(
    cluster: &Cluster,
    config: &Config,
    subject: &Subject,
    confirm_after: Duration,
    before_release: bool,
) -> Result<Vec<Check>, Failure> {
    let facts = gather::gather(cluster, config, subject, confirm_after).await?;
    Ok(checks::checks(&facts, config, subject, before_release))
}
