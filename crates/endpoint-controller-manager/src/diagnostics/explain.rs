//! `explain`: the pods of a Service, and the reasons for which they are or are not in its slices and Endpoints.

mod command;
mod output;
mod select;
mod summary;
mod table;
mod wait;

use std::ffi::OsString;
use std::process::ExitCode;

use endpoint_diagnostics::ServiceReport;
use endpoint_diagnostics::report::Verdict;
use tokio::runtime::Builder;

use super::cluster::Cluster;
use super::exit::{self, Failure};
use super::{files, serve};
use crate::options::{self, Parsed};
use command::Explanation;
use select::select;

#[cfg(test)]
pub(crate) use command::args;
pub(crate) use command::{NAME, command};

/// Runs the subcommand with the words after its name. `usage` is the way in which it was called.
pub(crate) fn main(usage: &'static str, words: &[OsString]) -> ExitCode {
    let explanation = match command::parse(usage, words) {
        Ok(explanation) => explanation,
        Err(Parsed::Print(text)) => return options::print(&text),
        Err(Parsed::Error(message)) => return options::print_error(&message),
        Err(Parsed::Run(_)) => return ExitCode::FAILURE,
    };
    if let Some(listen) = explanation.page {
        return serve::main(&explanation.target, listen, NAME);
    }
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
    let cluster = Cluster::of(&explanation.target, NAME).await?;
    if let Some(wait) = &explanation.wait {
        return wait::wait(explanation, &cluster, wait).await;
    }
    let snapshot = cluster.read().await?;
    select(explanation, &snapshot, cluster.namespace.as_deref(), &cluster.server)
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
