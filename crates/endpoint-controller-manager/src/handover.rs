//! `handover` and `rollback`: the swap with kube-controller-manager, step by step.
//!
//! ```text
//! API server ─ observe ─> Facts ─ steps ─> Action ─ drive ─> a request, an instruction, or a wait; then again
//! ```
//!
//! Nothing is remembered but by the cluster, so that the command can be killed anywhere: the held Lease, the flags of pods,
//! the holders of Leases, and an annotation of our Lease with what none of these shows.

mod ask;
mod canary;
mod checks;
mod command;
mod distribution;
mod drive;
mod facts;
mod gap;
mod instructions;
mod observe;
mod own_flags;
mod settings;
mod steps;
#[cfg(test)]
mod tests;
mod write;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;
use tokio::runtime::Builder;

use crate::diagnostics::exit::{self, Failure};
use crate::options::{self, Parsed};
use drive::Ended;
use facts::Goal;

#[cfg(test)]
pub(crate) use command::args;

/// The names of the subcommands.
pub(crate) const HANDOVER: &str = Goal::Handover.name();
pub(crate) const ROLLBACK: &str = Goal::Rollback.name();

/// The command of `handover`.
pub(crate) fn handover() -> Command {
    command::command(Goal::Handover)
}

/// The command of `rollback`.
pub(crate) fn rollback() -> Command {
    command::command(Goal::Rollback)
}

/// Runs `handover` with the words after its name.
pub(crate) fn run_handover(words: &[OsString]) -> ExitCode {
    run(Goal::Handover, words)
}

/// Runs `rollback` with the words after its name.
pub(crate) fn run_rollback(words: &[OsString]) -> ExitCode {
    run(Goal::Rollback, words)
}

fn run(goal: Goal, words: &[OsString]) -> ExitCode {
    let swap = match command::parse(goal, words) {
        Ok(swap) => swap,
        Err(Parsed::Print(text)) => return options::print(&text),
        Err(Parsed::Error(message)) => return options::print_error(&message),
        Err(Parsed::Run(_)) => return ExitCode::FAILURE,
    };
    let ended = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let ended = runtime.block_on(drive::drive(&swap));
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(Failure::Access(format!("cannot start threads: {error}"))),
    };
    match ended {
        Ok(Ended::Done) => exit::IN_ORDER.into(),
        Ok(Ended::Refused(reason)) => {
            exit::note(&format!("Refused: {reason}"));
            exit::WRONG.into()
        }
        Err(failure) => failure.report(),
    }
}
