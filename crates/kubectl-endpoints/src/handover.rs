//! `handover` and `rollback`: the migration with kube-controller-manager, step by step.
//!
//! ```text
//! API server ─ observe ─> Facts ─ steps ─> Action ─ drive ─> a request, an instruction, or a wait; then again
//! ```
//!
//! Nothing is remembered but by the cluster, so that the command can be killed anywhere: the held Lease, the flags of pods,
//! the holders of Leases, and an annotation of our Lease with what none of these shows.

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
mod patience;
mod rules;
mod steps;
#[cfg(test)]
mod tests;
mod write;

use crate::exit::{self, Code, Failure};
use crate::frame::Command;
use command::Migration;

pub(crate) use command::{command, parse};
pub(crate) use facts::Goal;

impl Command for Migration {
    async fn run(self) -> Result<Code, Failure> {
        match Box::pin(drive::drive(&self)).await? {
            None => Ok(Code::Done),
            Some(reason) => {
                exit::note(&format!("Refused: {reason}"));
                Ok(Code::Wrong)
            }
        }
    }
}
