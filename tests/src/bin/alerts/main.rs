//! `cargo xtask alerts`: makes every alert of `deploy/monitoring/alerts.yaml` fire by a real fault, under a real Prometheus that
//! scrapes two replicas with a token over verified TLS; runs the commands of each alert's runbook while it fires, and all
//! queries of the dashboard.
//!
//! | Module | One line |
//! |---|---|
//! | [`rules`] | the alerts, with `for`, and the ranges next to it, divided by [`rules::FASTER`] |
//! | [`prometheus`] | the server, its queries, and the states of alerts |
//! | [`replicas`] | two replicas at fixed ports, restarted whenever they end, as a kubelet does, and a shadow |
//! | [`stage`] | all of them together, and the workload |
//! | [`faults`] | the faults one after the other, and the alerts that each must raise |
//! | [`runbooks`] | the commands of a runbook |
//! | [`dashboard`] | the queries of the dashboard |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test program is never shipped: it fails by panicking, with one message"
)]

mod dashboard;
mod faults;
mod prometheus;
mod replicas;
mod rules;
mod runbooks;
mod stage;

use std::process::ExitCode;

use tests::program;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    program::run("cargo xtask alerts", Box::pin(faults::run())).await
}
