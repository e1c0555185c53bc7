//! `status`: who writes Endpoints and EndpointSlices, since when, and what is not in order, on one screen.
//!
//! ```text
//! Leases, pods, Services with all that belongs to them ─> Status ─> text, JSON, YAML
//! ```
//!
//! It reads objects only. How long changes wait inside a process is in its metrics; here it shows as Services that lag.

mod facts;
mod text;

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser};
use cli_runtime::printing;
use cli_runtime::usage::Usage;
use endpoint_diagnostics::explain_all;
use endpoint_diagnostics::report::Verdict;

use crate::cluster::Cluster;
use crate::exit::{self, Code, Failure};
use crate::flags::{self, ClusterFlags, Target};
use crate::format::{self, Format};
use crate::frame::Command;
use crate::name::USAGE;
use crate::progress::Progress;

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "status";

const ABOUT: &str = "Shows on one screen who writes Endpoints and EndpointSlices: the leader and its replicas, kube-controller-manager, \
                     the last write, and the Services that are not in order. Reads only";
const EXAMPLES: &str = "Examples:
  kubectl endpoints status
  kubectl endpoints status -o json
  kubectl endpoints status -n shop   # with the permissions of a namespace";

/// A checked command line.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    about = ABOUT,
    override_usage = format!("{USAGE} {NAME} [-n NAMESPACE] [flags]"),
    after_help = format!("{EXAMPLES}\n\n{}", exit::help()),
    next_help_heading = "Status flags",
)]
pub(crate) struct StatusQuestion {
    /// Namespace whose Services are checked; by default all
    #[arg(short, long)]
    namespace: Option<String>,
    /// Format of the result: table, wide, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_parser = format::UNNAMED, hide_possible_values = true, default_value = "table")]
    output: Format,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// The command.
pub(crate) fn command() -> clap::Command {
    StatusQuestion::command()
}

/// Reads the words after the name of the subcommand.
///
/// # Errors
/// The text or the message to print instead.
pub(crate) fn parse(words: &[OsString]) -> Result<StatusQuestion, Usage> {
    let question: StatusQuestion = flags::parse(command(), words)?;
    question.cluster.check().map_err(Usage::Error)?;
    Ok(question)
}

impl Command for StatusQuestion {
    async fn run(self) -> Result<Code, Failure> {
        let _progress = Progress::start("Reading the cluster");
        let all_namespaces = self.namespace.is_none();
        let target = Target { namespace: self.namespace, all_namespaces, ..Target::all(self.cluster) };
        let cluster = Cluster::of(&target, NAME).await?;
        let snapshot = cluster.read().await?;
        let reports = explain_all(&snapshot);
        let status = facts::gather(&cluster.client, &snapshot, &reports).await;
        exit::show(&match self.output {
            Format::Json => printing::json(&status),
            Format::Yaml => printing::yaml(&status),
            Format::Table | Format::Wide | Format::Name => {
                text::text(&status, &reports, snapshot.now(), self.output == Format::Wide)
            }
        })?;
        let has = |verdict| reports.iter().any(|report| report.verdict == verdict);
        Ok(match (has(Verdict::Wrong), has(Verdict::Unknown)) {
            (true, _) => Code::Wrong,
            (false, true) => Code::Undecided,
            (false, false) => Code::Done,
        })
    }
}
