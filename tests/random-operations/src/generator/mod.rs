//! Generates traces: tracks the existing objects, and draws the next operation.

mod nodes;
mod pods;

use std::collections::BTreeMap;

use crate::endpoints;
use crate::operation::{Chance, Operation, Readiness, Step};
use crate::rng::Rng;
use crate::services::{self, Service};
use nodes::NODES;
use pods::Pod;

/// With fewer than these, most operations create.
const FEW_PODS: usize = 10;
const FEW_SERVICES: usize = 5;

/// Generates one trace.
#[derive(Debug)]
pub struct Generator {
    rng: Rng,
    /// Allows topology-aware hints for Services.
    topology: bool,
    /// Generates custom Endpoints.
    custom_endpoints: bool,
    /// Both programs see the state in which a pod ends, and so date it alike.
    ends_are_seen: bool,
    chance: Chance,
    services: BTreeMap<&'static str, Service>,
    pods: BTreeMap<String, Pod>,
    nodes: BTreeMap<&'static str, bool>,
    /// The number of pods, and of addresses, so far.
    pods_made: usize,
    addresses: u16,
}

/// A kind of operation: its relative frequency, and the function that makes one if there is an object for it.
type Choice = (usize, fn(&mut Generator) -> Option<Operation>);

const CHOICES: [Choice; 24] = [
    (18, Generator::create_pod),
    (4, Generator::bind_pod),
    (12, Generator::start_pod),
    (16, Generator::flip_pod),
    (4, Generator::move_pod),
    (4, Generator::finish_pod),
    (7, Generator::terminate_pod),
    (8, Generator::remove_pod),
    (9, Generator::relabel_pod),
    (9, Generator::create_service),
    (3, Generator::delete_service),
    (7, |it| it.change_service(Service::change_ports)),
    (6, |it| it.change_service(Service::change_selector)),
    (7, |it| it.change_service(Service::change_labels)),
    (2, |it| it.change_service(|service, rng| service.change_nothing(rng))),
    (4, |it| it.change_service(|service, _| service.change_publishing())),
    (6, |it| it.change_service(Service::change_traffic_distribution)),
    (4, |it| it.topology.then(|| it.change_service(Service::change_topology_mode))?),
    (4, |it| it.change_service(Service::change_kind)),
    (5, |it| it.rng.any(it.services.values_mut())?.change_families(&mut it.rng)),
    (3, Generator::create_node),
    (3, Generator::label_node),
    (2, Generator::node_readiness),
    (1, Generator::delete_node),
];

/// Choices with custom Endpoints.
const MORE_CHOICES: [Choice; 2] =
    [(40, |it| Some(endpoints::set(&mut it.rng))), (6, |it| Some(endpoints::delete(&mut it.rng)))];

impl Generator {
    pub fn new(seed: u64, topology: bool, custom_endpoints: bool, ends_are_seen: bool) -> Self {
        Self {
            rng: Rng::new(seed),
            topology,
            custom_endpoints,
            ends_are_seen,
            chance: Chance::default(),
            services: BTreeMap::new(),
            pods: BTreeMap::new(),
            nodes: NODES[..3].iter().map(|name| (*name, true)).collect(),
            pods_made: 0,
            addresses: 0,
        }
    }

    /// The next step. A longer trace of a seed begins with a shorter one.
    pub fn step(&mut self) -> Step {
        let more: &[Choice] = if self.custom_endpoints { &MORE_CHOICES } else { &[] };
        let choices = || CHOICES.iter().chain(more);
        let sum: usize = choices().map(|(weight, _)| weight).sum();
        let operation = loop {
            // A cluster in use is the interesting start for changes of all kinds.
            if (self.pods.len() < FEW_PODS || self.services.len() < FEW_SERVICES) && self.rng.percent(60) {
                let fewer_pods = self.services.len() >= FEW_SERVICES || self.rng.percent(60);
                let operation = if fewer_pods { self.create_pod() } else { self.create_service() };
                if let Some(operation) = operation {
                    break operation;
                }
            }
            let mut left = self.rng.below(sum);
            let choice = choices().find(|(weight, _)| {
                let found = left < *weight;
                left = left.saturating_sub(*weight);
                found
            });
            let (_, make) = choice.expect("the number is below the sum");
            if let Some(operation) = make(self) {
                break operation;
            }
        };
        let named = |which: fn(&Service) -> bool| {
            self.services.iter().filter(move |(_, service)| which(service)).map(|(name, _)| *name)
        };
        // Slices that are no longer kept up to date, such as those of a deleted Service, keep their hints.
        for name in named(|service| service.is_synced() && !service.has_topology_mode()) {
            self.chance.hints.remove(name);
        }
        self.chance.hints.extend(named(Service::has_topology_mode));
        self.chance.trigger_times.extend(&self.chance.hints);
        if !self.ends_are_seen && matches!(operation, Operation::ChangePodStatus { what: "pod ends", .. }) {
            // The time stays in what was written, and dates what Services that select the pod later become.
            self.chance.ended = true;
        }
        self.chance.reserved = named(Service::has_reserved_label).collect();
        self.chance.headless.extend(named(Service::is_external_name));
        let synced: Vec<String> = named(Service::is_synced).map(ToOwned::to_owned).collect();
        let touch = is_silent(&operation, &synced);
        Step { touch, operation, synced, chance: self.chance.clone() }
    }

    fn create_service(&mut self) -> Option<Operation> {
        let missing = services::NAMES.into_iter().filter(|name| !self.services.contains_key(name));
        let name = self.rng.any(missing)?;
        let (service, operation) = Service::create(&mut self.rng, name, self.topology, self.custom_endpoints);
        self.services.insert(name, service);
        Some(operation)
    }

    fn delete_service(&mut self) -> Option<Operation> {
        let name = self.rng.any(self.services.keys().copied())?;
        self.services.remove(name);
        Some(Operation::DeleteService { name: name.to_owned() })
    }

    fn change_service(&mut self, change: fn(&mut Service, &mut Rng) -> Operation) -> Option<Operation> {
        let service = self.rng.any(self.services.values_mut())?;
        Some(change(service, &mut self.rng))
    }
}

/// True for operations that upstream notices only when something else happens; see the table of the parity runs, `tests::random`.
fn is_silent(operation: &Operation, synced: &[String]) -> bool {
    match operation {
        // Endpoints that the controller keeps itself.
        Operation::SetEndpoints { name, .. } => synced.contains(name),
        Operation::BindPod { .. } | Operation::ChangePodStatus { what: "pod ends", .. } => true,
        // Changes not the readiness, but its time.
        Operation::ChangePodStatus { status, .. } => status.ready == Some(Readiness::Absent),
        operation => operation.is_of_node(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn trace(seed: u64, steps: usize) -> Vec<Step> {
        let mut generator = Generator::new(seed, false, false, true);
        (0..steps).map(|_| generator.step()).collect()
    }

    #[test]
    fn a_trace_is_a_function_of_its_seed_and_a_longer_one_begins_like_a_shorter_one() {
        assert_eq!(trace(1, 200)[..100], trace(1, 100));
        assert_ne!(trace(1, 100), trace(2, 100));
    }

    #[test]
    fn every_operation_occurs_in_every_long_trace() {
        for seed in 0..20 {
            let kinds: BTreeSet<&str> = trace(seed, 400).iter().map(|step| step.operation.kind()).collect();
            assert!(kinds.len() >= 24, "seed {seed}: {kinds:?}");
        }
    }
}
