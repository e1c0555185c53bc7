//! `simulate`: the controllers on an API server in memory, with objects from files, until nothing is left to do.
//!
//! ```text
//! input ─> plan ─> load ─> API server <── controllers, until idle
//!            │                 │
//!            └─> dry run       └─> print, serve
//! ```
//!
//! Results go to stdout; what was added, skipped or takes long goes to stderr.

mod added;
mod api;
mod catalog;
mod cluster;
mod command;
mod controllers;
mod diff;
mod explained;
mod failures;
mod idle;
mod kubeconfig;
mod kubelets;
mod load;
mod plan;
mod print;
mod refusal;
mod result;
mod serve;
mod server;
mod session;
mod skipped;
mod workloads;

use endpoint_controller_manager::logging::{self, Logs};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::exit::{self, Code, Failure, note};
use crate::frame::Command;
use crate::progress::Progress;
use command::{Mode, Simulation};
use failures::Failures;
use session::{Outcome, Session};

pub(crate) use command::{NAME, command, parse};

impl Command for Simulation {
    async fn run(self) -> Result<Code, Failure> {
        let (logs, failures) = start_logs(&self);
        let outcome = run(&self, failures).await;
        // The log's last lines come before ours.
        drop(logs);
        let Outcome { text, code, notes } = outcome?;
        for line in &notes {
            note(line);
        }
        exit::show(&text)?;
        Ok(code)
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

async fn run(simulation: &Simulation, failures: Failures) -> Result<Outcome, Failure> {
    let progress = Progress::start("Reading the input");
    if simulation.mode == Mode::Diff {
        return diff::diff(simulation, &progress).await;
    }
    let session = Session::load(simulation, failures, &progress).await?;
    match &simulation.mode {
        Mode::Print | Mode::Diff => session.print(simulation, &progress).await,
        Mode::Serve { listen, kubeconfig } => {
            serve::serve(session, simulation, *listen, kubeconfig.as_deref(), &progress).await
        }
    }
}
