//! The cluster and the configuration of a history, and its rates of faults.

use random_operations::rng::Rng;

use crate::fault::Fault;

/// The cluster and the configuration of the replicas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    pub replicas: usize,
    /// API servers before the store.
    pub fronts: usize,
    pub election: bool,
    /// `--max-endpoints-per-slice`.
    pub max: usize,
    /// The feature gate for delegated Services, at the start.
    pub gate: bool,
    pub json: bool,
    /// The batch periods of the three controllers.
    pub batch_milliseconds: u64,
    /// The longest time that a request takes without a fault.
    pub latency_milliseconds: u64,
    /// Topology-aware hints.
    pub topology: bool,
    pub custom_endpoints: bool,
    /// The API server deletes the Endpoints of a deleted Service, as until Kubernetes 1.36; else only the controller does.
    pub deletes_endpoints: bool,
    /// The garbage collector works at once; else it comes by every few seconds.
    pub collects_at_once: bool,
    /// `--leader-elect-retry-period`; the other durations of the election are in proportion.
    pub retry_seconds: u64,
    /// The time without a write after which the history ends.
    pub quiet_seconds: u64,
    /// The fewest pods of a Service that has a sync cache; `None` is the default, which no Service
    /// here reaches.
    pub sync_cache_min_pods: Option<usize>,
    /// The feature gate `EndpointSliceCoalescing`; no seed has it on.
    pub coalescing: bool,
    /// `--kube-api-qps` and `--kube-api-burst` if they are so low that writes wait.
    pub writes_per_second: Option<u32>,
    /// The feature gate `EndpointsKeepReadyOnDisruption`.
    pub keeps_ready: bool,
    /// `--disruption-scope=zone`.
    pub scope_is_zone: bool,
    /// There are more nodes than may be lost, in another zone than these.
    pub has_other_zone: bool,
}

impl Setup {
    /// True if pods keep their readiness while all nodes are lost that may be: they are the cluster's, or those of a zone.
    pub(crate) fn keeps_pods_of_lost_nodes(&self) -> bool {
        self.keeps_ready && (self.scope_is_zone || !self.has_other_zone)
    }

    /// The nodes that exist before anything has happened, each with its zone.
    pub(crate) fn nodes(&self) -> Vec<(&'static str, Option<&'static str>)> {
        if !self.scope_is_zone && !self.has_other_zone {
            return vec![("a", Some("a")), ("b", Some("b")), ("c", None)];
        }
        let lost = ["a", "b", "c"].map(|name| (name, Some("a")));
        let others = ["d", "e", "f", "g"].map(|name| (name, Some("b")));
        let others = others.into_iter().filter(|_| self.has_other_zone);
        lost.into_iter().chain(others).collect()
    }
}

/// Draws a setup.
pub(crate) fn setup(rng: &mut Rng) -> Setup {
    let replicas = *rng.pick(&[1, 1, 1, 2, 2, 3]);
    Setup {
        replicas,
        fronts: *rng.pick(&[1, 1, 2, 3]),
        election: replicas > 1 || rng.percent(50),
        max: *rng.pick(&[2, 3, 5, 100]),
        gate: rng.percent(50),
        json: rng.percent(10),
        batch_milliseconds: *rng.pick(&[0, 0, 0, 500, 1000]),
        latency_milliseconds: *rng.pick(&[0, 1, 5, 20, 100]),
        topology: rng.percent(30),
        custom_endpoints: rng.percent(60),
        collects_at_once: rng.percent(60),
        retry_seconds: *rng.pick(&[2, 2, 5, 10]),
        // Sometimes longer than the wait for a stale cache.
        quiet_seconds: *rng.pick(&[6, 6, 6, 35]),
        ..Setup::default()
    }
}

/// A few kinds at a time, so that each also meets histories in which nothing else happens.
pub(crate) fn rates(rng: &mut Rng) -> Vec<(Fault, u32)> {
    let density = *rng.pick(&[5, 15, 40]);
    let mut rates = Vec::new();
    for fault in Fault::OF_REQUESTS.iter().chain(Fault::OF_WATCHES) {
        if rng.percent(density) {
            let of_watches = Fault::OF_WATCHES.contains(fault);
            let choices: &[u32] = if of_watches { &[500, 1500, 4000] } else { &[50, 200, 800, 2500] };
            rates.push((*fault, *rng.pick(choices)));
        }
    }
    rates
}
