//! Generates traces: tracks the existing objects, and draws the next operation.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::endpoints;
use super::operation::{Chance, Operation, PodStatus, Readiness, Step};
use super::rng::Rng;
use super::services::{self, Service, with};

/// The maximum number of pods at a time.
const MOST_PODS: usize = 26;

/// With fewer than these, most operations create.
const FEW_PODS: usize = 10;
const FEW_SERVICES: usize = 5;

/// Nodes `a` to `c` exist from the beginning; `lost` never does.
const NODES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const MISSING_NODE: &str = "lost";

/// Generates one trace.
#[derive(Debug)]
pub(crate) struct Generator {
    rng: Rng,
    /// Allows topology-aware hints for Services.
    topology: bool,
    /// Generates custom Endpoints.
    custom_endpoints: bool,
    chance: Chance,
    services: BTreeMap<&'static str, Service>,
    pods: BTreeMap<String, Pod>,
    nodes: BTreeMap<&'static str, bool>,
    /// The number of pods, and of addresses, so far.
    pods_made: usize,
    addresses: u16,
}

#[derive(Debug, Clone)]
struct Pod {
    state: State,
    bound: bool,
    finalizer: bool,
    ips: Vec<String>,
    ready: Readiness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Pending,
    Running,
    /// Failed or succeeded.
    Finished,
    Terminating,
    /// Both finished and terminating.
    FinishedTerminating,
}

impl Pod {
    fn is_terminating(&self) -> bool {
        matches!(self.state, State::Terminating | State::FinishedTerminating)
    }

    /// True if the pod may disappear in one step. The API server marks a pod that it deletes at once as terminating
    /// first, so a serving pod would cause one write or two, by chance.
    fn may_go(&self) -> bool {
        self.is_terminating() || self.state == State::Finished || self.ips.is_empty()
    }
}

/// The kinds of operations, with their relative frequency.
#[derive(Debug, Clone, Copy)]
enum Choice {
    CreatePod,
    BindPod,
    StartPod,
    FlipPod,
    MovePod,
    FinishPod,
    TerminatePod,
    RemovePod,
    RelabelPod,
    CreateService,
    DeleteService,
    ServicePorts,
    ServiceSelector,
    ServiceLabels,
    ServiceNothing,
    ServicePublishing,
    ServiceTraffic,
    ServiceTopology,
    ServiceKind,
    ServiceFamilies,
    CreateNode,
    LabelNode,
    NodeReadiness,
    DeleteNode,
    SetEndpoints,
    DeleteEndpoints,
}

const CHOICES: [(Choice, usize); 24] = [
    (Choice::CreatePod, 18),
    (Choice::BindPod, 4),
    (Choice::StartPod, 12),
    (Choice::FlipPod, 16),
    (Choice::MovePod, 4),
    (Choice::FinishPod, 4),
    (Choice::TerminatePod, 7),
    (Choice::RemovePod, 8),
    (Choice::RelabelPod, 9),
    (Choice::CreateService, 9),
    (Choice::DeleteService, 3),
    (Choice::ServicePorts, 7),
    (Choice::ServiceSelector, 6),
    (Choice::ServiceLabels, 7),
    (Choice::ServiceNothing, 2),
    (Choice::ServicePublishing, 4),
    (Choice::ServiceTraffic, 6),
    (Choice::ServiceTopology, 4),
    (Choice::ServiceKind, 4),
    (Choice::ServiceFamilies, 5),
    (Choice::CreateNode, 3),
    (Choice::LabelNode, 3),
    (Choice::NodeReadiness, 2),
    (Choice::DeleteNode, 1),
];

/// Choices with custom Endpoints.
const MORE_CHOICES: [(Choice, usize); 2] = [(Choice::SetEndpoints, 40), (Choice::DeleteEndpoints, 6)];

impl Generator {
    pub(crate) fn new(seed: u64, topology: bool, custom_endpoints: bool) -> Self {
        Self {
            rng: Rng::new(seed),
            topology,
            custom_endpoints,
            chance: Chance::default(),
            services: BTreeMap::new(),
            pods: BTreeMap::new(),
            nodes: NODES[..3].iter().map(|name| (*name, true)).collect(),
            pods_made: 0,
            addresses: 0,
        }
    }

    /// The next step. A longer trace of a seed begins with a shorter one.
    pub(crate) fn step(&mut self) -> Step {
        let more: &[(Choice, usize)] = if self.custom_endpoints { &MORE_CHOICES } else { &[] };
        let choices = || CHOICES.iter().chain(more);
        let sum: usize = choices().map(|(_, weight)| weight).sum();
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
            let choice = choices().find(|(_, weight)| {
                let found = left < *weight;
                left = left.saturating_sub(*weight);
                found
            });
            let (choice, _) = choice.expect("the number is below the sum");
            if let Some(operation) = self.operation(*choice) {
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
        self.chance.reserved = named(Service::has_reserved_label).collect();
        self.chance.headless.extend(named(Service::is_external_name));
        let synced: Vec<String> = named(Service::is_synced).map(ToOwned::to_owned).collect();
        let touch = is_silent(&operation, &synced);
        Step { touch, operation, synced, chance: self.chance.clone() }
    }

    /// None if there is no object for the operation.
    fn operation(&mut self, choice: Choice) -> Option<Operation> {
        match choice {
            Choice::CreatePod => self.create_pod(),
            Choice::BindPod => self.bind_pod(),
            Choice::StartPod => self.start_pod(),
            Choice::FlipPod => self.flip_pod(),
            Choice::MovePod => self.move_pod(),
            Choice::FinishPod => self.finish_pod(),
            Choice::TerminatePod => self.terminate_pod(),
            Choice::RemovePod => self.remove_pod(),
            Choice::RelabelPod => self.relabel_pod(),
            Choice::CreateService => self.create_service(),
            Choice::DeleteService => self.delete_service(),
            Choice::ServiceTopology if !self.topology => None,
            Choice::CreateNode => self.create_node(),
            Choice::LabelNode => self.label_node(),
            Choice::NodeReadiness => self.node_readiness(),
            Choice::DeleteNode => self.delete_node(),
            Choice::SetEndpoints => Some(endpoints::set(&mut self.rng)),
            Choice::DeleteEndpoints => Some(endpoints::delete(&mut self.rng)),
            _ => self.change_service(choice),
        }
    }

    // ---- Services ----

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

    fn change_service(&mut self, choice: Choice) -> Option<Operation> {
        let rng = &mut self.rng;
        let service = rng.any(self.services.values_mut())?;
        Some(match choice {
            Choice::ServicePorts => service.change_ports(rng),
            Choice::ServiceSelector => service.change_selector(rng),
            Choice::ServiceLabels => service.change_labels(rng),
            Choice::ServicePublishing => service.change_publishing(),
            Choice::ServiceTraffic => service.change_traffic_distribution(rng),
            Choice::ServiceTopology => service.change_topology_mode(rng),
            Choice::ServiceKind => service.change_kind(rng),
            Choice::ServiceFamilies => return service.change_families(rng),
            _ => service.change_nothing(rng),
        })
    }

    // ---- pods ----

    fn create_pod(&mut self) -> Option<Operation> {
        if self.pods.len() >= MOST_PODS {
            return None;
        }
        let rng = &mut self.rng;
        // A stateful pod is created again under its name.
        let name = format!("pod-{}", if rng.percent(60) { self.pods_made } else { rng.below(20) });
        if self.pods.contains_key(&name) {
            return None;
        }
        self.pods_made += 1;
        let bound = rng.percent(85);
        let finalizer = rng.percent(15);
        let mut spec = pod_spec(rng);
        if bound {
            spec["nodeName"] = json!(self.any_node());
        }
        let rng = &mut self.rng;
        if rng.percent(40) {
            spec["hostname"] = json!(name);
            if rng.percent(80) {
                spec["subdomain"] = json!(rng.pick(&services::NAMES));
            }
        }
        let mut metadata = json!({"name": name, "labels": pod_labels(rng)});
        if finalizer {
            metadata["finalizers"] = json!([FINALIZER]);
        }
        let mut pod =
            Pod { state: State::Pending, bound, finalizer, ips: Vec::new(), ready: Readiness::Absent };
        let mut status = PodStatus::default();
        if bound && self.rng.percent(70) {
            status = self.start(&mut pod);
        }
        self.pods.insert(name.clone(), pod);
        Some(Operation::CreatePod { name, object: json!({"metadata": metadata, "spec": spec}), status })
    }

    fn bind_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| !pod.bound && !pod.is_terminating())?;
        let node = self.any_node();
        self.pods.get_mut(&name)?.bound = true;
        Some(Operation::BindPod { name, node })
    }

    fn start_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| pod.bound && pod.state == State::Pending)?;
        let mut pod = self.pods.remove(&name)?;
        let status = self.start(&mut pod);
        self.pods.insert(name.clone(), pod);
        Some(Operation::ChangePodStatus { name, what: "start pod", status })
    }

    /// Gives a pod its addresses, and may make it ready.
    fn start(&mut self, pod: &mut Pod) -> PodStatus {
        pod.state = State::Running;
        pod.ips = self.ips();
        let choices =
            [Readiness::True, Readiness::True, Readiness::True, Readiness::False, Readiness::Absent];
        pod.ready = *self.rng.pick(&choices);
        let phase = if self.rng.percent(90) { "Running" } else { "Pending" };
        PodStatus { phase: Some(phase), ips: Some(pod.ips.clone()), ready: Some(pod.ready) }
    }

    fn flip_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| matches!(pod.state, State::Running | State::Terminating))?;
        let pod = self.pods.get_mut(&name)?;
        pod.ready = match pod.ready {
            Readiness::True if self.rng.percent(10) => Readiness::Absent,
            Readiness::True => Readiness::False,
            // No relevant change.
            Readiness::False if self.rng.percent(5) => Readiness::Absent,
            _ => Readiness::True,
        };
        let what = if pod.ready == Readiness::True { "pod becomes ready" } else { "pod becomes unready" };
        let status = PodStatus { ready: Some(pod.ready), ..PodStatus::default() };
        Some(Operation::ChangePodStatus { name, what, status })
    }

    fn move_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| pod.state == State::Running)?;
        let ips = self.ips();
        self.pods.get_mut(&name)?.ips.clone_from(&ips);
        let status = PodStatus { ips: Some(ips), ..PodStatus::default() };
        Some(Operation::ChangePodStatus { name, what: "pod addresses", status })
    }

    fn finish_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| matches!(pod.state, State::Running | State::Terminating))?;
        let silent = self.rng.percent(20);
        let phase = *self.rng.pick(&["Failed", "Succeeded"]);
        let pod = self.pods.get_mut(&name)?;
        let ready = if silent { None } else { Some(Readiness::False) };
        pod.ready = ready.unwrap_or(pod.ready);
        pod.state = if pod.is_terminating() { State::FinishedTerminating } else { State::Finished };
        let status = PodStatus { phase: Some(phase), ready, ips: None };
        Some(Operation::ChangePodStatus { name, what: "pod ends", status })
    }

    fn terminate_pod(&mut self) -> Option<Operation> {
        // The API server deletes at once a pod that has no kubelet, or whose status says that it has ended.
        let can =
            |pod: &Pod| !pod.is_terminating() && (pod.finalizer || pod.bound && pod.state != State::Finished);
        let name = self.any_pod(can)?;
        let pod = self.pods.get_mut(&name)?;
        pod.state =
            if pod.state == State::Finished { State::FinishedTerminating } else { State::Terminating };
        let grace_seconds = if pod.finalizer { 0 } else { 30 };
        Some(Operation::TerminatePod { name, grace_seconds })
    }

    fn remove_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(Pod::may_go)?;
        let pod = self.pods.remove(&name)?;
        Some(Operation::RemovePod { name, finalizer: pod.finalizer })
    }

    fn relabel_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|_| true)?;
        let rng = &mut self.rng;
        let (key, values): (_, &[Option<&str>]) = match rng.below(10) {
            0..4 => ("app", &[Some("a"), Some("a"), Some("b"), Some("c"), None]),
            4..6 => ("tier", &[Some("x"), Some("y"), None]),
            6..8 => ("in", &[Some("all"), Some("all"), None]),
            8 => ("unrelated", &[Some("1"), Some("2"), None]),
            _ => {
                let metadata = json!({"annotations": {"note": rng.below(1000).to_string()}});
                return Some(Operation::ChangePod { name, what: "annotate pod", metadata });
            }
        };
        let metadata = json!({"labels": {key: rng.pick(values)}});
        Some(Operation::ChangePod { name, what: "relabel pod", metadata })
    }

    fn any_pod(&mut self, which: impl Fn(&Pod) -> bool) -> Option<String> {
        self.rng.any(self.pods.iter().filter(|(_, pod)| which(pod)).map(|(name, _)| name.clone()))
    }

    /// Addresses of one family or both; rarely ones that another pod has or had.
    fn ips(&mut self) -> Vec<String> {
        let number = if self.addresses > 0 && self.rng.percent(5) {
            u16::try_from(self.rng.below(self.addresses.into())).unwrap()
        } else {
            self.addresses += 1;
            self.addresses
        };
        let [high, low] = number.to_be_bytes();
        let (v4, v6) = (format!("10.1.{high}.{low}"), format!("fd00:1::{number:x}"));
        match self.rng.below(10) {
            0..2 => vec![v4],
            2..4 => vec![v6],
            4..6 => vec![v6, v4],
            _ => vec![v4, v6],
        }
    }

    // ---- nodes ----

    /// A node for a pod: an existing one, a later one, or one that never exists.
    fn any_node(&mut self) -> String {
        let rng = &mut self.rng;
        let existing = rng.any(self.nodes.keys().copied());
        match (existing, rng.below(100)) {
            (_, 0..3) => MISSING_NODE.to_owned(),
            (_, 3..8) | (None, _) => (*rng.pick(&NODES)).to_owned(),
            (Some(node), _) => node.to_owned(),
        }
    }

    fn create_node(&mut self) -> Option<Operation> {
        let name = self.rng.any(NODES.into_iter().filter(|name| !self.nodes.contains_key(name)))?;
        self.nodes.insert(name, true);
        let (zone, ready) = (zone(&mut self.rng), self.rng.percent(80));
        Some(Operation::CreateNode { name: name.to_owned(), zone, cpu: cpu(name), ready })
    }

    fn label_node(&mut self) -> Option<Operation> {
        let name = self.rng.any(self.nodes.keys().copied())?;
        let labels = match self.rng.below(10) {
            0 => json!({"unrelated": self.rng.below(1000).to_string()}),
            _ => json!({"topology.kubernetes.io/zone": zone(&mut self.rng)}),
        };
        Some(Operation::LabelNode { name: name.to_owned(), labels })
    }

    fn node_readiness(&mut self) -> Option<Operation> {
        let name = self.rng.any(self.nodes.keys().copied())?;
        let ready = self.rng.percent(70);
        Some(Operation::ChangeNodeReadiness { name: name.to_owned(), cpu: cpu(name), ready })
    }

    fn delete_node(&mut self) -> Option<Operation> {
        let name = self.rng.any(self.nodes.keys().copied())?;
        self.nodes.remove(name);
        Some(Operation::DeleteNode { name: name.to_owned() })
    }
}

/// True for operations that upstream notices only when something else happens; see the table of [`super`].
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

pub(crate) const FINALIZER: &str = "tests.example/hold";

fn zone(rng: &mut Rng) -> Option<String> {
    let zone = *rng.pick(&[Some("a"), Some("a"), Some("b"), Some("b"), Some("c"), None]);
    zone.map(ToOwned::to_owned)
}

/// Different numbers, so that the shares of zones are seldom equal.
fn cpu(node: &str) -> u32 {
    let index = NODES.iter().position(|name| *name == node).unwrap();
    [2, 3, 5, 7, 11, 13][index]
}

fn pod_labels(rng: &mut Rng) -> Value {
    let mut labels = json!({"app": rng.pick(&["a", "a", "b", "c"]), "tier": rng.pick(&["x", "y"])});
    if rng.percent(85) {
        labels["in"] = json!("all");
    }
    labels
}

/// Containers with the named ports of Services: on changing numbers, of the wrong protocol, or missing.
fn pod_spec(rng: &mut Rng) -> Value {
    let port = |name: &str, number: u16, protocol: &str| json!({"name": name, "containerPort": number, "protocol": protocol});
    let container = |name: &str, ports: Vec<Value>| json!({"name": name, "image": "none", "ports": ports});
    let mut ports = Vec::new();
    match rng.below(10) {
        0..6 => ports.push(port("http", 8080, "TCP")),
        6 => ports.push(port("http", 9090, "TCP")),
        7 => ports.push(port("http", 8080, "UDP")),
        _ => {}
    }
    if rng.percent(60) {
        ports.push(port("metrics", 9153, "TCP"));
    }
    let mut containers = vec![container("main", ports)];
    if rng.percent(10) {
        containers.push(container("second", vec![port("http", 7070, "TCP"), port("proxy", 7071, "TCP")]));
    }
    let mut spec = json!({"containers": containers});
    if rng.percent(30) {
        // An init container that ends gets no traffic; a sidecar does.
        let sidecar =
            with(container("sidecar", vec![port("proxy", 15001, "TCP")]), "restartPolicy", "Always");
        let setup = container("setup", vec![port("proxy", 1, "TCP")]);
        spec["initContainers"] = if rng.percent(70) { json!([setup, sidecar]) } else { json!([setup]) };
    }
    spec
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn trace(seed: u64, steps: usize) -> Vec<Step> {
        let mut generator = Generator::new(seed, false, false);
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
