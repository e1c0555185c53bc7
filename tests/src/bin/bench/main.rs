//! `hack/bench`: what the same work costs kube-controller-manager and endpoint-controller-manager.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark is never shipped: it fails by panicking, with one message"
)]

mod measure;
mod options;
mod report;
mod seed;
mod tally;

use std::process::ExitCode;

use clap::Parser;
use tests::manager::Kind;
use tests::program;

use crate::measure::{Measurement, measure};
use crate::options::Options;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    program::run("hack/bench", Box::pin(run(&options))).await
}

async fn run(options: &Options) -> ExitCode {
    println!("{options}");
    let mut measurements: Vec<(Kind, Measurement)> = Vec::new();
    for kind in options.kinds() {
        measurements.push((kind, Box::pin(measure(kind, options)).await));
    }
    println!("\n{}", report::table(options, &measurements));
    let [(_, upstream), (_, ours)] = measurements.as_slice() else { return ExitCode::SUCCESS };
    let difference = upstream.difference(ours);
    if difference.is_empty() {
        println!("The endpoints are equal.");
        return ExitCode::SUCCESS;
    }
    let lines: Vec<&str> = difference.lines().collect();
    let shown = lines[..lines.len().min(20)].join("\n");
    println!("The endpoints DIFFER in {} lines (- upstream, + ours):\n{shown}", lines.len());
    ExitCode::FAILURE
}
