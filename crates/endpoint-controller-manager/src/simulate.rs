//! `simulate`: the controllers on an API server in memory, with objects from files, until nothing is left to do.
//!
//! ```text
//! input ─> plan ─> load ─> API server <── controllers, until quiet
//!                              │
//!                              └─> print, diff, serve
//! ```
//!
//! Results go to stdout; what was added, skipped or takes long goes to stderr.

mod added;
mod api;
mod catalog;
mod cluster;
mod command;
mod controllers;
mod failures;
mod foresee;
mod kubeconfig;
mod kubelets;
mod load;
mod plan;
mod print;
mod progress;
mod result;
mod serve;
mod server;
mod session;
mod skipped;
mod workloads;

use std::ffi::OsString;
use std::process::ExitCode;

use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::logging::{self, Logs};
use crate::options;
use crate::printing::{self, note};
use command::{Mode, Simulation};
use failures::Failures;
use progress::Progress;
use session::{Outcome, Session};

#[cfg(test)]
pub(crate) use command::args;
pub(crate) use command::{NAME, command};
pub(crate) use foresee::{Foreseen, Foresight};

/// Runs the subcommand with the words after its name.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let simulation = match command::parse(words) {
        Ok(simulation) => simulation,
        Err(options::Parsed::Print(text)) => return options::print(&text),
        Err(options::Parsed::Error(message)) => return options::print_error(&message),
        Err(options::Parsed::Run(_)) => return ExitCode::FAILURE,
    };
    let (logs, failures) = start_logs(&simulation);
    let outcome = runtime().and_then(|runtime| {
        let outcome = runtime.block_on(run(simulation, failures));
        runtime.shutdown_background();
        outcome
    });
    // The log's last lines come before ours.
    drop(logs);
    match outcome {
        Ok(Outcome { text, code, notes }) => {
            for line in notes {
                note(&line);
            }
            printing::print(&text);
            code
        }
        Err(lines) => {
            for line in lines {
                note(&format!("Error: {line}"));
            }
            ExitCode::FAILURE
        }
    }
}

/// With a level above 0 the log is that of the real thing; else only warnings are printed, and failures are kept.
fn start_logs(simulation: &Simulation) -> (Option<Logs>, Failures) {
    let failures = Failures::default();
    let level = simulation.config.verbosity;
    if level > 0 {
        return (Some(logging::init(simulation.config.log_format, level)), failures);
    }
    // Nothing else has set one.
    let _ = tracing_subscriber::registry().with(failures.clone()).try_init();
    (None, failures)
}

/// One thread is enough for an API server that answers at once.
fn runtime() -> Result<Runtime, Vec<String>> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| vec![format!("cannot start threads: {error}")])
}

async fn run(simulation: Simulation, failures: Failures) -> Result<Outcome, Vec<String>> {
    let progress = Progress::start("Reading the input");
    let session = Session::load(&simulation, failures, &progress).await?;
    match &simulation.mode {
        Mode::Print => session.print(&simulation, &progress).await,
        Mode::Diff => session.diff(&simulation, &progress).await,
        Mode::Serve { listen, kubeconfig } => {
            serve::serve(session, &simulation, *listen, kubeconfig.as_deref(), &progress).await
        }
    }
}
