//! The cost of compressed lists: for this program, for the API server, and for the network between them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use scripted_api::balancer::Proxy;
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, Kind, Manager};

use crate::measure::{Bench, QUIET, quiet};
use crate::options::Options;
use crate::report::megabytes;
use crate::scenarios::figures::median;
use crate::seed;

/// The delay of a round trip, and 100 Mbit in bytes.
const LINK: (Duration, u32) = (Duration::from_millis(10), 12_500_000);

/// The figures of a start: seconds until it is ready, received megabytes, and CPU seconds of this program, of the API server and of
/// both.
type Start = [f64; 5];

/// Starts the program again and again on a settled cluster. Returns the table.
pub(crate) async fn run(options: &Options) -> String {
    eprintln!("starting and filling a cluster");
    let cluster = settled(options).await;
    let mut starts: BTreeMap<(bool, bool), Vec<Start>> = BTreeMap::new();
    for run in 1..=options.runs {
        for (is_far, compresses) in [(false, false), (false, true), (true, false), (true, true)] {
            eprintln!("run {run} of {}: far {is_far}, compressed {compresses}", options.runs);
            let measured = start(&cluster, options, is_far, compresses).await;
            starts.entry((is_far, compresses)).or_default().push(measured);
        }
    }
    let mut text = format!("{:30}", "medians of a start");
    for column in ["seconds", "received, MB", "CPU of ours, s", "of the API server", "of both"] {
        write!(text, "{column:>19}").unwrap();
    }
    for ((is_far, compresses), starts) in starts {
        let link = if is_far { "10 ms, 100 Mbit/s" } else { "near" };
        write!(text, "\n{:30}", format!("{link}{}", if compresses { ", compressed" } else { "" })).unwrap();
        for figure in 0..5 {
            write!(text, "{:19.2}", median(starts.iter().map(|start| start[figure]).collect())).unwrap();
        }
    }
    text
}

/// A cluster with all slices and Endpoints.
async fn settled(options: &Options) -> Cluster {
    let cluster = seed::cluster(options).await;
    let (mut bench, begun) = Bench::start(Kind::Ours, cluster, options.manager(Controller::ALL), options);
    bench.all_slices(begun).await;
    let Bench { manager, cluster, .. } = bench;
    manager.stop().await;
    cluster
}

async fn start(cluster: &Cluster, options: &Options, is_far: bool, compresses: bool) -> Start {
    let proxy = Proxy::start(cluster.apiserver_address()).await;
    if is_far {
        proxy.slow(LINK.0, LINK.1);
    }
    let mut manager_options = options.manager(Controller::ALL);
    manager_options.kubeconfig = Some(cluster.kubeconfig_at(User::EndpointControllers, proxy.address()));
    manager_options.flags.push(format!("--disable-compression={}", !compresses));
    let cpu = || cluster.apiserver_usage().cpu;
    let (before, begin) = (cpu(), Instant::now());
    let mut manager = Manager::launch(Kind::Ours, cluster, &manager_options);
    manager.ready().await;
    let seconds = begin.elapsed().as_secs_f64();
    let ours = quiet(&mut [manager.process()], QUIET, options.limit()).await.cpu.as_secs_f64();
    let server = cpu().saturating_sub(before).as_secs_f64();
    manager.stop().await;
    [seconds, megabytes(proxy.received()), ours, server, ours + server]
}
