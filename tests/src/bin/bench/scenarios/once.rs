//! One program on a cluster of its own, once.

use scripted_api::balancer::Proxy;
use tests::canonical::Canonical;
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, Kind, ManagerOptions};

use super::figures::{self, Figures, RECEIVED};
use super::floor;
use super::own;
use super::scenario::{CHANGES_PER_SECOND, Scenario};
use crate::measure::Bench;
use crate::options::Options;
use crate::report::megabytes;
use crate::seed;

/// The result.
pub(crate) struct Once {
    /// Figures of each phase, in order. Those of the floor are of a client that does nothing else.
    pub(crate) phases: Vec<(&'static str, Figures)>,
    /// All endpoints at the end, by namespace.
    pub(crate) endpoints: Vec<Canonical>,
}

/// Cold: from an empty state to all slices. Restart: a new process on the settled cluster, with one change to write.
/// Churn: pods stop being ready, fifty a second. After ours, the floor.
pub(crate) async fn once(kind: Kind, scenario: &Scenario, options: &Options) -> Once {
    let cluster = seed::cluster(options).await;
    let pods = seed::pods(&cluster, options).await;
    let (first, pods) = pods.split_first().expect("there is a pod");
    let churn = &pods[..scenario.changes() as usize];
    let (manager_options, meter) = meter(&cluster, scenario, options).await;
    let mut phases = Vec::new();
    let (mut bench, begun) = Bench::start(kind, cluster, manager_options, options);
    let cold = bench.all_slices(begun).await;
    phases.push(("cold", meter.add(cold)));
    let (mut bench, restart) = bench.restart(kind, first).await;
    phases.push(("restart", meter.add(restart)));
    let before = own::durations(&bench.manager).await;
    let (mut steady, delays) = bench.steady(churn, CHANGES_PER_SECOND).await;
    figures::add_delays(&mut steady, &delays);
    own::add_delays(&mut steady, before, own::durations(&bench.manager).await);
    phases.push(("churn", meter.add(steady)));

    let endpoints = bench.endpoints().await;
    let Bench { manager, observer, cluster, .. } = bench;
    drop(observer);
    manager.stop().await;
    if kind == Kind::Ours {
        phases.push(("floor: list", floor::list(&cluster).await));
        phases.push(("floor: writes", floor::writes(&cluster).await));
    }
    Once { phases, endpoints }
}

/// Counts received bytes, where a scenario asks for it.
struct Meter {
    proxy: Option<Proxy>,
    before: std::cell::Cell<u64>,
}

impl Meter {
    /// Adds the bytes since the last call.
    fn add(&self, mut figures: Figures) -> Figures {
        if let Some(proxy) = &self.proxy {
            let now = proxy.received();
            figures.insert(RECEIVED, megabytes(now - self.before.replace(now)));
        }
        figures
    }
}

async fn meter(cluster: &Cluster, scenario: &Scenario, options: &Options) -> (ManagerOptions, Meter) {
    let mut manager_options = options.manager(Controller::ALL);
    let before = std::cell::Cell::new(0);
    if !scenario.counts_bytes {
        return (manager_options, Meter { proxy: None, before });
    }
    let proxy = Proxy::start(cluster.apiserver_address()).await;
    manager_options.kubeconfig = Some(cluster.kubeconfig_at(User::EndpointControllers, proxy.address()));
    (manager_options, Meter { proxy: Some(proxy), before })
}
