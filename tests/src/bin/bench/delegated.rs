//! The cost of delegated Services in our program: memory and CPU, with the feature gate on and off.

use std::fmt::Write as _;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;
use tests::cluster::Cluster;
use tests::manager::{Controller, Kind};

use crate::measure::{Begun, Bench, CONCURRENCY};
use crate::options::Options;
use crate::report::megabytes;
use crate::scenarios::figures::{CPU, Figures, PEAK, WRITES};
use crate::seed::{self, SeededPod};

const LABEL: &str = "service.kubernetes.io/endpoint-controller-name";
const GATE: &str = "--feature-gates=EndpointControllerNameWellKnownLabel=true";
/// The time without changes after which memory is measured.
const IDLE: Duration = Duration::from_secs(5);

/// Measurements of our program with the gate in one position.
struct Measured {
    start: Figures,
    churn: Figures,
    /// Memory some seconds later, in bytes.
    idle: u64,
}

/// Measures both positions on one cluster, with the gate on first, because it leaves nothing behind. Returns the table.
pub(crate) async fn run(options: &Options) -> String {
    eprintln!("starting and filling a cluster");
    let cluster = seed::cluster(options).await;
    let pods = seed::pods(&cluster, options).await;
    let (first, second) = pods.split_at(pods.len() / 2);
    let changing = |pods: &[SeededPod]| pods[..pods.len().min(options.churn as usize)].to_vec();
    eprintln!("giving all Services to another controller");
    delegate(&cluster, options).await;
    let (cluster, on) = measure(cluster, options, true, &changing(first)).await;
    let (_, off) = measure(cluster, options, false, &changing(second)).await;
    table(changing(first).len(), &off, &on)
}

async fn delegate(cluster: &Cluster, options: &Options) {
    for namespace in 0..options.namespaces() {
        let services: Api<Service> = Api::namespaced(cluster.client(), &format!("ns-{namespace}"));
        let list = services.list_metadata(&ListParams::default()).await.expect("listing Services");
        let names = list.items.into_iter().filter_map(|service| service.metadata.name);
        let change = Patch::Merge(json!({"metadata": {"labels": {LABEL: "another"}}}));
        let changes = names.map(async |name| {
            services.patch(&name, &PatchParams::default(), &change).await.expect("labelling a Service");
        });
        futures::stream::iter(changes).buffer_unordered(CONCURRENCY).collect::<()>().await;
    }
}

async fn measure(cluster: Cluster, options: &Options, gate: bool, pods: &[SeededPod]) -> (Cluster, Measured) {
    eprintln!("the gate {}", if gate { "on" } else { "off" });
    let mut manager_options = options.manager(Controller::ALL);
    manager_options.flags.extend(gate.then(|| GATE.to_owned()));
    let (mut bench, begun) = Bench::start(Kind::Ours, cluster, manager_options, options);
    let start = if gate { ready(&mut bench, begun).await } else { bench.all_slices(begun).await };
    let churn = if gate { unseen_churn(&mut bench, pods).await } else { bench.churn(pods).await };
    tokio::time::sleep(IDLE).await;
    let idle = bench.manager.usage().rss;
    let Bench { manager, cluster, .. } = bench;
    manager.stop().await;
    (cluster, Measured { start, churn, idle })
}

/// Waits until the manager is ready: there are no slices to wait for.
async fn ready(bench: &mut Bench<'_>, begun: Begun) -> Figures {
    bench.manager.ready().await;
    let took = begun.at.elapsed();
    bench.end(begun, took).await
}

async fn unseen_churn(bench: &mut Bench<'_>, pods: &[SeededPod]) -> Figures {
    let begun = bench.begin();
    bench.change(pods).await;
    let took = begun.at.elapsed();
    bench.end(begun, took).await
}

fn table(changed: usize, off: &Measured, on: &Measured) -> String {
    let mut text = format!("{:58}{:>12}{:>12}\n", "", "gate off", "gate on");
    let mut row = |what: &str, digits: usize, of: fn(&Measured) -> f64| {
        writeln!(text, "{what:58}{:12.digits$}{:12.digits$}", of(off), of(on)).unwrap();
    };
    row("start: CPU seconds", 2, |it| it.start[CPU]);
    row("start: peak RSS, MB", 1, |it| it.start[PEAK]);
    row("start: writes", 0, |it| it.start[WRITES]);
    let churn = |what: &str| format!("{changed} pods stop being ready, all at once: {what}");
    row(&churn("CPU seconds"), 2, |it| it.churn[CPU]);
    row(&churn("writes"), 0, |it| it.churn[WRITES]);
    row("idle: RSS, MB", 1, |it| megabytes(it.idle));
    text
}
