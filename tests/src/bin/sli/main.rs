//! `cargo xtask sli-agreement`: the time from a change to its write, as the program measures it and as a watcher outside does.
//!
//! | Module | One line |
//! |---|---|
//! | [`watcher`] | watches of pods, nodes, slices and Endpoints, and the time between a change and its effect |
//! | [`changes`] | the changes: readiness, deletions, new pods, zones of nodes |
//! | [`compare`] | quantiles of both, and the verdict |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test program is never shipped: it fails by panicking, with one message"
)]

mod changes;
mod compare;
mod watcher;

use std::process::ExitCode;

use clap::Parser;
use tests::program;

/// Compares the program's own measure of the time from a change to its write with that of a watcher.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask sli-agreement")]
pub(crate) struct Options {
    /// Services, with one pod each.
    #[arg(long, default_value_t = 40)]
    services: u16,
    /// Changes of each pod.
    #[arg(long, default_value_t = 25)]
    rounds: usize,
    /// Services that change at the same time.
    #[arg(long, default_value_t = 4)]
    at_a_time: usize,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    program::run("cargo xtask sli-agreement", Box::pin(changes::run(&options))).await
}
