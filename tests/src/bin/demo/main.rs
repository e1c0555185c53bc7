//! `hack/demo`: Services, pods, Endpoints and slices on an API server, changing in the terminal.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a demonstration is never shipped: it fails by panicking, with one message"
)]

mod fixture;
mod nodes_at_work;
mod prometheus;
mod samples;
mod slice_table;
mod story;
mod table;

use std::process::ExitCode;

use clap::Parser;
use tests::manager::Kind;
use tests::program;

/// Shows endpoint-controller-manager at work: an API server in memory, the manifests of config/samples, and a series of
/// changes. Everything is cleaned up at the end.
#[derive(Debug, Parser)]
#[command(bin_name = "hack/demo")]
struct Args {
    /// Run without pauses for reading.
    #[arg(long)]
    no_pauses: bool,
    /// Run kube-apiserver and etcd in a temporary folder instead of the API server in memory.
    #[arg(long)]
    real: bool,
    /// Run kube-controller-manager instead, to compare; implies --real.
    #[arg(long)]
    upstream: bool,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let args = Args::parse();
    let kind = if args.upstream { Kind::Upstream } else { Kind::Ours };
    program::run("hack/demo", async {
        Box::pin(story::play(kind, args.real || args.upstream, !args.no_pauses)).await;
        ExitCode::SUCCESS
    })
    .await
}
