//! `hack/bench`: the cost of the same work in kube-controller-manager and endpoint-controller-manager.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark is never shipped: it fails by panicking, with one message"
)]

mod compression;
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
mod tally;
mod whole;

use std::process::ExitCode;

use clap::Parser;
use tests::program;

use crate::options::Options;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    program::run("hack/bench", Box::pin(run(&options))).await
}

async fn run(options: &Options) -> ExitCode {
    let Some(table) = Box::pin(special(options)).await else {
        return Box::pin(scenarios::run(options)).await;
    };
    if options.whole || options.partition || options.consumers {
        println!("{}\n", report::machine());
    } else {
        println!("{options}\n");
    }
    println!("{table}");
    ExitCode::SUCCESS
}

/// The table of what is measured instead of scenarios, if the options ask for it.
async fn special(options: &Options) -> Option<String> {
    Some(if options.delegated {
        Box::pin(delegated::run(options)).await
    } else if options.whole {
        Box::pin(whole::run(options)).await
    } else if options.compression {
        Box::pin(compression::run(options)).await
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
