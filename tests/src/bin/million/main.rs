//! `cargo xtask bench-million`: the cost of a million pods in endpoint-controller-manager, on a generated cluster.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a benchmark is never shipped: it fails by panicking, with one message, and its numbers are below 2^52"
)]

mod churn;
mod cluster;
mod kinds;
mod options;
mod published;
mod report;
mod samples;
mod server;
mod subject;
mod tally;
mod template;
mod watchers;
mod wire;
mod world;
mod writes;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Parser;
use tests::process::own_usage;
use tests::program;
use tokio::net::TcpListener;

use crate::cluster::Cluster;
use crate::kinds::Objects;
use crate::options::Options;
use crate::samples::Samples;
use crate::server::Server;
use crate::subject::Subject;
use crate::world::World;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    program::run("cargo xtask bench-million", Box::pin(run(&options))).await
}

async fn run(options: &Options) -> ExitCode {
    let objects = Objects { world: World::new(options), samples: Samples::new().await };
    println!("{}", report::cluster(&objects));
    let server = Arc::new(Server(Cluster::new(objects)));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(Arc::clone(&server).serve(listener));
    tokio::spawn(bookmarks(Arc::clone(&server)));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut subject = Subject::start(&url, folder.path(), options);
    let kept = start(&server.0, &mut subject, options).await;
    if options.seconds > 0 {
        change(&server.0, &mut subject, options).await;
    }
    subject.stop().await;
    for complaint in subject.complaints().iter().take(10) {
        println!("log: {complaint}");
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn bookmarks(server: Arc<Server>) {
    let mut minutes = tokio::time::interval(Duration::from_mins(1));
    loop {
        minutes.tick().await;
        server.0.watchers.bookmark();
    }
}

/// Measures until all plans are made. Returns true if nothing was written.
async fn start(cluster: &Cluster, subject: &mut Subject, options: &Options) -> bool {
    let limit = Duration::from_secs(options.limit.into());
    subject.caches_filled(limit).await;
    let filled = (subject.usage(), subject.elapsed());
    // Without the controller of slices, rest must do.
    let services = f64::from(u32::try_from(cluster.objects.world.services).expect("fewer than the pods"));
    let has_planned = async |subject: &Subject| subject.syncs().await >= services;
    let (planned, at) = subject.quiet(limit, has_planned).await;
    let metrics = subject.metrics().await;
    let writes = cluster.writes.load(Ordering::Relaxed);
    println!("{}", report::start(cluster, filled, (planned, at), &metrics));
    if let Some(path) = &options.json {
        let json = report::json(cluster.objects.world.pods, planned, at, writes);
        std::fs::write(path, json).unwrap_or_else(|error| panic!("writing {}: {error}", path.display()));
    }
    writes == 0
}

/// Measures while pods change.
async fn change(cluster: &Cluster, subject: &mut Subject, options: &Options) {
    let (begun, before, harness) = (subject.metrics().await, subject.usage(), own_usage().cpu);
    let writes = cluster.writes.load(Ordering::Relaxed);
    let start = Instant::now();
    let time = Duration::from_secs(options.seconds.into());
    let events = churn::run(cluster, options.rate, options.every, time).await;
    let ended = (start.elapsed(), subject.usage());
    let harness = own_usage().cpu.saturating_sub(harness);
    let limit = subject.elapsed() + Duration::from_secs(options.limit.into());
    let has_written = async |_: &Subject| cluster.slices.waiting() == 0 && cluster.endpoints.waiting() == 0;
    let (after, _) = subject.quiet(limit, has_written).await;
    let metrics = subject.metrics().await;
    let writes = cluster.writes.load(Ordering::Relaxed) - writes;
    let churn = report::Churn { events, writes, before, ended, after, harness };
    println!("{}", report::churn(cluster, &churn, &begun, &metrics));
}
