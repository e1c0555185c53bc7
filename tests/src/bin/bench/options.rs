//! Options of the benchmark.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use tests::manager::{Controller, Kind, ManagerOptions};

/// Measures kube-controller-manager and endpoint-controller-manager one after the other, each on a fresh API server on
/// loopback with the same Services and pods. Measures the scenario S by default. Scenarios have sizes of their own; the options
/// for sizes belong to the other measurements.
#[derive(Debug, Clone, Parser)]
#[command(bin_name = "hack/bench")]
pub(crate) struct Options {
    /// Number of Services.
    #[arg(long, requires = "form", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) services: u32,
    /// Number of pods of each Service.
    #[arg(long, requires = "form", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) pods: u32,
    /// Number of nodes on which the pods run.
    #[arg(long, requires = "form", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) nodes: u32,
    /// Number of namespaces of the Services [default: one for 100 Services].
    #[arg(long, requires = "form", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) namespaces: Option<u32>,
    /// Number of further pods, which are not endpoints: pending, finished, or in namespaces without Services, in turn.
    #[arg(long, requires = "form", default_value_t = 0)]
    pub(crate) bystanders: u32,
    /// Maximum number of pods that stop being ready at once.
    #[arg(long, requires = "form", default_value_t = 500)]
    pub(crate) churn: u32,
    /// --kube-api-qps and --kube-api-burst of both. Upstream's defaults of 20 and 30 would limit both programs equally.
    #[arg(long, requires = "form", default_value_t = 10_000)]
    pub(crate) qps: u32,
    /// Measure only `upstream` or `ours`.
    #[arg(long, value_enum)]
    only: Option<Kind>,
    /// Measure delegated Services instead: all Services belong to another controller, and only ours runs, with the
    /// feature gate `EndpointControllerNameWellKnownLabel` on and off.
    #[arg(long, group = "form")]
    pub(crate) delegated: bool,
    /// Measure the order of writes under client-go's default rate limit instead, with all three controllers: 1,200 Services
    /// arrive, and pods of others stop being ready. Usual with `--services 2500 --pods 1 --namespaces 250`.
    #[arg(long, group = "form")]
    pub(crate) density: bool,
    /// With --density, ten times as many Services arrive, under 150 requests a second and 300 at once.
    #[arg(long, requires = "density")]
    pub(crate) large: bool,
    /// Measure `pod-network-controller` instead: each pod has a ResourceClaim with an address in each of two networks.
    #[arg(long, group = "form")]
    pub(crate) networks: bool,
    /// Measure the commands that read a whole cluster instead: `audit`, `explain -A`, its page, `preflight`, `shadow`.
    #[arg(long, group = "form")]
    pub(crate) readers: bool,
    /// Measure a whole control plane instead: kube-controller-manager with nearly all its controllers, and without these three
    /// alongside one and two replicas of this program, on a nearly empty cluster and on those of --scenario and --growth
    /// [default: S and L].
    #[arg(long, conflicts_with = "form")]
    pub(crate) whole: bool,
    /// Measure lost kubelets instead: alongside upstream's node lifecycle controller, 20 nodes with 2,000 endpoints lose the API
    /// server. Upstream's controllers, those of this program with `EndpointsKeepReadyOnDisruption`, and `shadow`, at the same time.
    #[arg(long, group = "form")]
    pub(crate) partition: bool,
    /// Measure what clients notice instead: from a change of a pod to the first connection through kube-proxy that takes the new
    /// way, and to the answer of CoreDNS. Needs root, for a network namespace of its own.
    #[arg(long, group = "form")]
    pub(crate) consumers: bool,
    /// The rules that kube-proxy writes for --consumers: `nftables` or `iptables`.
    #[arg(long, value_enum, default_value_t = ProxyMode::Nftables, requires = "consumers")]
    pub(crate) proxy_mode: ProxyMode,
    /// Measure compressed lists instead: the start of this program on a settled cluster with and without
    /// `--disable-compression`, near the API server and behind 10 ms and 100 Mbit/s.
    #[arg(long, group = "form")]
    pub(crate) compression: bool,
    /// Minutes for which --partition loses all kubelets; a tenth of it is the time between two nodes that die.
    #[arg(long, default_value_t = 10, requires = "partition", value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) minutes: u32,
    /// Measure named scenarios instead, with all three controllers and 5,000 requests a second for both; may be given
    /// several times: `S`, `L`, `N`, `B`, `pending` or `all`.
    #[arg(long, value_name = "NAME", conflicts_with = "form")]
    pub(crate) scenario: Vec<ScenarioName>,
    /// Measure the growth instead, or as well: a cluster with this number of pods, 20 for each Service; may be given several
    /// times.
    #[arg(long, value_name = "PODS", conflicts_with = "form", value_parser = clap::value_parser!(u32).range(20..=2_000_000))]
    pub(crate) growth: Vec<u32>,
    /// Runs of each scenario, of --density, --whole, --consumers or --compression, of which the medians count.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) runs: u32,
    /// A file for the results of scenarios and growth, which `hack/images/plots` draws, of --whole or --consumers, as JSON.
    /// `hack/checks/figures` compares documents with those in docs/reference/measured.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// The rules that kube-proxy writes.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ProxyMode {
    Nftables,
    Iptables,
}

impl ProxyMode {
    /// Its name for kube-proxy, and the tool that this needs.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Nftables => ("nftables", "nft"),
            Self::Iptables => ("iptables", "iptables"),
        }
    }
}

/// A scenario that `--scenario` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScenarioName {
    /// All of the others.
    #[value(name = "all")]
    All,
    /// 1,000 Services with 10 pods each in 20 namespaces.
    #[value(name = "S")]
    S,
    /// 5,000 Services with 20 pods each in 50 namespaces.
    #[value(name = "L")]
    L,
    /// 2,000 Services with 20 pods each in one namespace.
    #[value(name = "N")]
    N,
    /// One Service with 5,000 pods.
    #[value(name = "B")]
    B,
    /// 1,000 Services with 8 pods each, and 12,000 more pods that are pending, finished, or in namespaces without Services.
    #[value(name = "pending")]
    Pending,
}

impl Options {
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        Kind::only(self.only)
    }

    pub(crate) fn all_pods(&self) -> u32 {
        self.services.saturating_mul(self.pods)
    }

    pub(crate) fn namespaces(&self) -> u32 {
        self.namespaces.unwrap_or(self.services / 100).clamp(1, self.services)
    }

    /// Long enough for a machine that is ten times slower than a developer's, and short enough to notice.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(60) + Duration::from_millis(10) * self.all_pods()
    }

    pub(crate) fn manager(&self, controllers: &'static [Controller]) -> ManagerOptions {
        ManagerOptions { qps: self.qps, ..ManagerOptions::of(controllers) }
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { services, pods, nodes, qps, .. } = self;
        let namespaces = self.namespaces();
        let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        writeln!(f, "{services} Services × {pods} pods in {namespaces} namespaces; {nodes} nodes")?;
        write!(
            f,
            "{qps} requests a second allowed; {processors} processors, shared with the API server, etcd and this program"
        )
    }
}
