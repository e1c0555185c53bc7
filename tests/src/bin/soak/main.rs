//! `cargo xtask soak-faults`: random operations and faults from outside on two real API servers, one with
//! kube-controller-manager and one with endpoint-controller-manager, and the simulator's oracle on both.
//!
//! | Module | One line |
//! |---|---|
//! | [`options`] | the command line |
//! | [`access`] | the harness's own requests, past the proxies |
//! | [`fault`] | the kinds of faults, and the timeline of a round |
//! | [`replica`] | one process behind a proxy, restarted whenever it ends |
//! | [`side`] | one cluster with its replicas: operations, faults, the oracle |
//! | [`neighbour`] | other clients that change the controllers' objects and the Lease |
//! | [`soak`] | rounds of faults, and the checks between them |
//! | [`report`] | the table |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test program is never shipped: it fails by panicking, with one message"
)]

mod access;
mod fault;
mod neighbour;
mod options;
mod replica;
mod report;
mod side;
mod soak;

use std::process::ExitCode;

use clap::Parser;
use tests::program;

use crate::options::Options;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    program::run("cargo xtask soak-faults", Box::pin(soak::run(&options))).await
}
