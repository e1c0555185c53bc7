//! The changes, each of which requires one write of each controller, or of the one of slices.

use std::process::ExitCode;

use futures::StreamExt as _;
use futures::stream;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Controller, Kind, ManagerOptions};
use tests::metrics::{Exposition, Histogram, Observed};
use tests::scenario::{Pod, World};
use tests::wait::{self, LIMIT};

use crate::Options;
use crate::compare::{self, Comparison};
use crate::watcher::{Effect, Watcher};

const CONTROLLERS: &[Controller] = &[Controller::Endpoints, Controller::EndpointSlice];
const BOTH: &[Effect] = &[Effect::Slice, Effect::Endpoints];
const METRIC: &str = "change_write_duration_seconds";

/// The effect of a controller's writes.
fn effect(controller: Controller) -> Effect {
    if controller == Controller::Endpoints { Effect::Endpoints } else { Effect::Slice }
}

struct Stage {
    observed: Observed,
    world: World,
    watcher: Watcher,
    cluster: Cluster,
}

pub(crate) async fn run(options: &Options) -> ExitCode {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let observed = Observed::start(Kind::Ours, &cluster, &ManagerOptions::of(CONTROLLERS)).await;
    let world = World::prepare(cluster.client(), CONTROLLERS).await;
    let names: Vec<String> = (0..options.services).map(|number| format!("web-{number}")).collect();
    world.pods(names.iter().zip(0..).map(|(name, number)| Pod::new(name, name, number))).await;
    for name in &names {
        let spec = json!({"selector": {"app": name}, "ports": [{"name": "http", "port": 80}]});
        world.service(name, json!({}), spec).await;
        world.expect(name, "IPv4", 1, 1).await;
    }
    world.settle().await;
    let watcher = Watcher::start(&cluster.client());
    let stage = Stage { observed, world, watcher, cluster };
    let before = stage.durations().await;
    for round in 0..options.rounds {
        stage.round(options, &names, round).await;
        eprint!("\r{} of {} rounds", round + 1, options.rounds);
    }
    eprintln!();
    let after = stage.durations().await;
    let comparisons = CONTROLLERS.iter().zip(before).zip(after).map(|((controller, before), after)| {
        let watched = stage.watcher.samples(effect(*controller));
        Comparison::new(controller.name(), compare::since(&before, &after), watched)
    });
    compare::report(&comparisons.collect::<Vec<_>>())
}

impl Stage {
    /// Changes each pod once, and the zone of the node on which all are. In every fifth round the pods are replaced.
    async fn round(&self, options: &Options, names: &[String], round: usize) {
        let changes = names.iter().zip(0..).map(|(name, number)| self.change(name, number, round));
        stream::iter(changes).buffer_unordered(options.at_a_time).collect::<Vec<()>>().await;
        let nodes: Api<Node> = Api::all(self.cluster.client());
        let zone = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": format!("z{round}")}}});
        self.watcher.expect(names, &[Effect::Slice]);
        nodes.patch("a", &PatchParams::default(), &Patch::Merge(zone)).await.expect("a change of a node");
        self.wait(names).await;
    }

    async fn change(&self, name: &str, number: u16, round: usize) {
        let service = [name.to_owned()];
        self.watcher.expect(&service, BOTH);
        if round % 5 == 4 {
            self.world.terminate(name).await;
            self.wait(&service).await;
            self.watcher.expect(&service, &[Effect::Slice]);
            self.world.gone(name).await;
            self.wait(&service).await;
            self.watcher.expect(&service, BOTH);
            self.world.pod(Pod::new(name, name, number)).await;
        } else {
            self.world.ready(name, round % 5 % 2 == 1).await;
        }
        self.wait(&service).await;
    }

    async fn wait(&self, services: &[String]) {
        let seen = tokio::time::timeout(LIMIT, self.watcher.seen(services)).await;
        seen.unwrap_or_else(|_| panic!("{services:?}: no effect within {} s", LIMIT.as_secs()));
    }

    /// The histograms of all controllers, when nothing is unwritten.
    async fn durations(&self) -> Vec<Histogram> {
        wait::until("rest", LIMIT, async || {
            let metrics = Exposition::parse(&self.observed.scrape().await.text)?;
            let histograms = CONTROLLERS.iter().map(|controller| {
                let labels = [("controller", controller.name())];
                let age = metrics.number("oldest_unwritten_change_age_seconds", &labels);
                let histogram = metrics.histogram(METRIC, &labels).filter(|_| age == Some(0.0));
                histogram.cloned().ok_or_else(|| format!("{}: {age:?}", controller.name()))
            });
            histograms.collect::<Result<Vec<_>, String>>()
        })
        .await
    }
}
