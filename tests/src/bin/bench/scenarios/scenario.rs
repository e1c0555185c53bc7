//! The scenarios.

use clap::ValueEnum as _;

use crate::options::{Options, ScenarioName};

/// Requests a second that both programs may send: more than the API server answers on a few cores.
pub(crate) const QPS: u32 = 5_000;
/// Pods that change in the phase `churn`, for each second.
pub(crate) const CHANGES_PER_SECOND: u32 = 50;
const SECONDS_OF_CHURN: u32 = 15;

/// The size of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// Its name in tables and JSON.
    pub(crate) name: String,
    pub(crate) services: u32,
    pub(crate) pods: u32,
    pub(crate) namespaces: u32,
    pub(crate) nodes: u32,
    /// Pods that are not endpoints.
    pub(crate) bystanders: u32,
    /// Bytes that the program receives are counted; a proxy does it, which takes processor time.
    pub(crate) counts_bytes: bool,
}

impl Scenario {
    /// The scenarios that the options ask for, each once; S by default, and L for a whole control plane.
    pub(crate) fn of(options: &Options) -> Vec<Self> {
        let is_asked_for = |name: &ScenarioName| match options.scenario.as_slice() {
            [] if !options.growth.is_empty() => false,
            [] => *name == ScenarioName::S || options.whole && *name == ScenarioName::L,
            names => names.contains(&ScenarioName::All) || names.contains(name),
        };
        let named =
            ScenarioName::value_variants().iter().copied().filter(is_asked_for).filter_map(Self::named);
        named.chain(options.growth.iter().copied().map(Self::growth)).collect()
    }

    /// One pod: only its slice tells that controllers run.
    pub(crate) fn empty() -> Self {
        Self { name: "empty".to_owned(), pods: 1, ..Self::growth(20) }
    }

    fn named(name: ScenarioName) -> Option<Self> {
        let (services, pods, namespaces, nodes, bystanders) = match name {
            ScenarioName::All => return None,
            ScenarioName::S => (1_000, 10, 20, 100, 0),
            ScenarioName::L => (5_000, 20, 50, 1_000, 0),
            ScenarioName::N => (2_000, 20, 1, 400, 0),
            ScenarioName::B => (1, 5_000, 1, 100, 0),
            ScenarioName::Pending => (1_000, 8, 20, 200, 12_000),
        };
        let name_of = name.to_possible_value().map(|value| value.get_name().to_owned());
        let counts_bytes = name == ScenarioName::Pending;
        Some(Self { name: name_of?, services, pods, namespaces, nodes, bystanders, counts_bytes })
    }

    /// 20 pods for each Service and 100 Services for each namespace, as in L; 100 pods for each node.
    fn growth(pods: u32) -> Self {
        let services = pods / 20;
        Self {
            name: format!("{pods} pods"),
            services,
            pods: 20,
            namespaces: (services / 100).max(1),
            nodes: (pods / 100).clamp(1, 15_000),
            bystanders: 0,
            counts_bytes: false,
        }
    }

    /// The pods that are endpoints.
    pub(crate) fn endpoints(&self) -> u32 {
        self.services * self.pods
    }

    /// The pods that change in the phase `churn`; one more is left for the restart.
    pub(crate) fn changes(&self) -> u32 {
        (CHANGES_PER_SECOND * SECONDS_OF_CHURN).min(self.endpoints() - 1)
    }

    /// The options of the benchmark for a cluster of this size.
    pub(crate) fn options(&self, options: &Options) -> Options {
        let mut options = options.clone();
        (options.services, options.pods) = (self.services, self.pods);
        (options.nodes, options.namespaces) = (self.nodes, Some(self.namespaces));
        (options.bystanders, options.qps) = (self.bystanders, QPS);
        options
    }
}
