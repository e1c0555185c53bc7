//! `handover` and `rollback`: the migration with kube-controller-manager, step by step.
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

use cli_runtime::usage::Usage;

use crate::exit::{self, Code, Failure};
use crate::frame::Command;
use command::Swap;
use drive::Ended;
use facts::Goal;

/// The names of the subcommands.
pub(crate) const HANDOVER: &str = Goal::Handover.name();
pub(crate) const ROLLBACK: &str = Goal::Rollback.name();

/// The command of `handover`.
pub(crate) fn handover() -> clap::Command {
    command::command(Goal::Handover)
}

/// The command of `rollback`.
pub(crate) fn rollback() -> clap::Command {
    command::command(Goal::Rollback)
}

/// A handover.
pub(crate) struct Handover(Swap);

/// A rollback.
pub(crate) struct Rollback(Swap);

impl Command for Handover {
    fn parse(words: &[OsString]) -> Result<Self, Usage> {
        command::parse(Goal::Handover, words).map(Self)
    }

    async fn run(self) -> Result<Code, Failure> {
        Box::pin(run(&self.0)).await
    }
}

impl Command for Rollback {
    fn parse(words: &[OsString]) -> Result<Self, Usage> {
        command::parse(Goal::Rollback, words).map(Self)
    }

    async fn run(self) -> Result<Code, Failure> {
        Box::pin(run(&self.0)).await
    }
}

async fn run(swap: &Swap) -> Result<Code, Failure> {
    match Box::pin(drive::drive(swap)).await? {
        Ended::Done => Ok(Code::Done),
        Ended::Refused(reason) => {
            exit::note(&format!("Refused: {reason}"));
            Ok(Code::Wrong)
        }
    }
}
