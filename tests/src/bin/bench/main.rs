//! `hack/bench`: the cost of the same work in kube-controller-manager and endpoint-controller-manager.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark is never shipped: it fails by panicking, with one message"
)]

mod consumers;
mod delegated;
mod density;
mod measure;
mod networks;
mod options;
mod partition;
mod readers;
mod report;
mod scenarios;
mod seed;
mod shadow;
mod tally;
mod timeline;
mod whole;

use std::process::ExitCode;

use clap::Parser;
use tests::manager::{Controller, Kind};
use tests::program;

use crate::measure::{Measurement, measure};
use crate::options::Options;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    program::run("hack/bench", Box::pin(run(&options))).await
}

async fn run(options: &Options) -> ExitCode {
    if !options.scenario.is_empty() || !options.growth.is_empty() {
        return Box::pin(scenarios::run(options)).await;
    }
    if !options.partition {
        println!("{options}");
    }
    if options.delegated {
        for controllers in &options.controllers {
            println!("\n{}", Box::pin(delegated::run(controllers, options)).await);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(table) = Box::pin(special(options)).await {
        println!("\n{table}");
        return ExitCode::SUCCESS;
    }
    if options.timeline {
        timeline::print(&options.controllers, options).await;
        return ExitCode::SUCCESS;
    }
    let mut all = Vec::new();
    let mut code = ExitCode::SUCCESS;
    for controllers in &options.controllers {
        let mut measurements: Vec<(Kind, Measurement)> = Vec::new();
        for kind in options.kinds() {
            measurements.push((kind, Box::pin(measure(kind, controllers, options)).await));
        }
        println!("\n{}\n{}", Controller::list(controllers), report::table(options, &measurements));
        if !have_equal_endpoints(&measurements) {
            code = ExitCode::FAILURE;
        }
        all.extend(measurements.into_iter().map(|(kind, measurement)| (kind, *controllers, measurement)));
    }
    println!("\n{}", report::memory(&all));
    code
}

/// The table of what is measured instead of the two programs on their own, if the options ask for it.
async fn special(options: &Options) -> Option<String> {
    Some(if options.shadow {
        Box::pin(shadow::run(options)).await
    } else if options.whole {
        Box::pin(whole::run(options)).await
    } else if options.readers {
        Box::pin(readers::run(options)).await
    } else if options.networks {
        Box::pin(networks::run(options)).await
    } else if options.density {
        Box::pin(density::run(options)).await
    } else if options.partition {
        Box::pin(partition::run(options)).await
    } else if options.consumers {
        Box::pin(consumers::run(options)).await
    } else {
        return None;
    })
}

/// Compares the endpoints of the two and prints the result; a single program is equal to itself.
fn have_equal_endpoints(measurements: &[(Kind, Measurement)]) -> bool {
    let [(_, upstream), (_, ours)] = measurements else { return true };
    let difference = upstream.difference(ours);
    if difference.is_empty() {
        println!("The endpoints are equal.");
        return true;
    }
    let lines: Vec<&str> = difference.lines().collect();
    let shown = lines[..lines.len().min(20)].join("\n");
    println!("The endpoints DIFFER in {} lines (- upstream, + ours):\n{shown}", lines.len());
    false
}
