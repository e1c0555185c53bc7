//! The cluster of a random history, and the endpoints that should be published of it.

use std::collections::{BTreeMap, BTreeSet};

use controller_harness::{NAMESPACE, TestApi};
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Pod, Service};
use fastrand::Rng;
use pod_network_controller::ResourceClaim;
use serde_json::{Value, json};

use crate::support::{NETWORK, pod, service, upsert};

/// A network, as drivers report it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Network {
    kind: &'static str,
    name: &'static str,
    namespace: &'static str,
}

impl Network {
    const fn new(kind: &'static str, name: &'static str, namespace: &'static str) -> Self {
        Self { kind, name, namespace }
    }
}

/// The networks of devices; none for what cannot be read. The first two are those of most devices.
const NETWORKS: [Option<Network>; 6] = [
    Some(Network::new("", "storage", "")),
    Some(Network::new("", "backup", "")),
    Some(Network::new("Other", "storage", "")),
    Some(Network::new("", "storage", NAMESPACE)),
    Some(Network::new("", "storage", "elsewhere")),
    None,
];
const PLAIN: usize = 2;
const DRIVERS: [&str; 2] = ["net.example.com", "fast.example.com"];
/// The requests that devices are allocated for; none for a device that the allocation lacks.
const REQUESTS: [Option<&str>; 3] = [Some("net"), Some("net/fast"), None];
const PODS: u8 = 4;
const CLAIMS: u8 = 5;

/// A pod of the model. `life` counts the pods that had its name.
#[derive(Clone, Copy)]
struct ModelPod {
    life: u32,
    ready: bool,
    terminating: bool,
    terminal: bool,
}

/// The addresses of a device in the status of its claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reported {
    Address(u8),
    /// A link-local address, which slices must not have.
    Unsuitable(u8),
    Malformed,
    Nothing,
}

/// A device of the model.
#[derive(Clone, Copy)]
struct Device {
    reported: Reported,
    ready: Option<bool>,
    driver: usize,
    request: usize,
}

/// Devices by the numbers of their networks.
type Devices = BTreeMap<usize, Device>;

/// A claim of the model: the pods that it is reserved for, by name and life, and its devices.
#[derive(Clone, Default)]
struct ModelClaim {
    pods: Vec<(u8, u32)>,
    devices: Devices,
}

/// The devices that the Service asks for.
#[derive(Clone, Copy, Default)]
struct Wanted {
    name: Option<&'static str>,
    kind: Option<&'static str>,
    namespace: Option<&'static str>,
    driver: Option<&'static str>,
    request: Option<&'static str>,
}

impl Wanted {
    /// Mostly a network by its name alone.
    fn random(random: &mut Rng) -> Self {
        let mut sometimes =
            |values: [&'static str; 2]| (random.u8(..5) == 0).then(|| values[random.usize(..2)]);
        let (kind, driver) = (sometimes(["Other", "None"]), sometimes(DRIVERS));
        let (namespace, request) = (sometimes([NAMESPACE, "elsewhere"]), sometimes(["net", "net/fast"]));
        let name = (random.u8(..6) != 0).then(|| ["storage", "storage", "backup"][random.usize(..3)]);
        Self { name, kind, namespace, driver, request }
    }

    fn is_for_claims(&self) -> bool {
        self.name.is_some() || self.driver.is_some() || self.request.is_some()
    }

    fn fits(&self, network: Option<Network>, device: &Device) -> bool {
        let is_requested = match (self.request, REQUESTS[device.request]) {
            (None, _) | (Some("net"), Some(_)) => true,
            (wanted, request) => wanted == request,
        };
        let is_driver = self.driver.is_none_or(|driver| driver == DRIVERS[device.driver]);
        let asks_for_network = self.name.is_some() || self.kind.is_some() || self.namespace.is_some();
        let is_network = network.is_some_and(|network| {
            self.name.is_none_or(|name| name == network.name)
                && self.kind.is_none_or(|kind| kind == network.kind)
                && match self.namespace {
                    Some(namespace) => namespace == network.namespace,
                    None => ["", NAMESPACE].contains(&network.namespace),
                }
        });
        is_requested && is_driver && (is_network || !asks_for_network)
    }
}

/// The objects of the cluster.
pub(super) struct Model {
    pub(super) random: Rng,
    version: u32,
    lives: u32,
    pods: BTreeMap<u8, ModelPod>,
    claims: BTreeMap<u8, ModelClaim>,
    /// The devices of claims whose kubelet restarts, to be reported again.
    cleared: BTreeMap<u8, Devices>,
    wanted: Wanted,
    owner: Owner,
}

/// The reader of the Service.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Ours,
    Other,
    /// The built-in controller, by the absence of a label.
    BuiltIn,
    /// The built-in controller and ours.
    Both,
    /// Ours, of type `ExternalName`.
    Alias,
}

/// An endpoint: address, ready, serving, terminating.
pub(super) type Published = BTreeSet<(String, bool, bool, bool)>;

impl Model {
    pub(super) fn new(seed: u64) -> Self {
        let (pods, claims, cleared) = Default::default();
        let (random, owner) = (Rng::with_seed(seed), Owner::Ours);
        let wanted = Wanted { name: Some("storage"), ..Wanted::default() };
        Self { random, version: 0, lives: 0, pods, claims, cleared, wanted, owner }
    }

    fn uid(name: u8, life: u32) -> String {
        format!("uid-{name}-{life}")
    }

    fn put_pod(&mut self, api: &TestApi, name: u8) {
        self.version += 1;
        let state = self.pods[&name];
        let changes = json!({
            "metadata": {"uid": Self::uid(name, state.life),
                "deletionTimestamp": state.terminating.then_some("2026-11-27T00:00:00Z")},
            "status": {"phase": if state.terminal { "Succeeded" } else { "Running" },
                "conditions": [{"type": "Ready", "status": status(state.ready)}]},
        });
        upsert::<Pod>(api, pod(&format!("db-{name}"), self.version, changes));
    }

    fn put_claim(&mut self, api: &TestApi, name: u8) {
        self.version += 1;
        let claim = &self.claims[&name];
        let consumer = |(pod, life): &(u8, u32)| json!({"resource": "pods", "name": format!("db-{pod}"), "uid": Self::uid(*pod, *life)});
        let results = claim.devices.iter().filter_map(|(network, device)| {
            let mut result = id(*network, device);
            result["request"] = json!(REQUESTS[device.request]?);
            Some(result)
        });
        let object = json!({
            "metadata": {"name": format!("claim-{name}"), "namespace": NAMESPACE,
                "resourceVersion": self.version.to_string()},
            "status": {"reservedFor": claim.pods.iter().map(consumer).collect::<Vec<_>>(),
                "allocation": {"devices": {"results": results.collect::<Vec<_>>()}},
                "devices": claim.devices.iter().map(|(network, device)| report(*network, device)).collect::<Vec<_>>()},
        });
        upsert::<ResourceClaim>(api, object);
    }

    pub(super) fn put_service(&mut self, api: &TestApi) {
        self.version += 1;
        let label = match self.owner {
            Owner::Ours | Owner::Alias => Some(pod_network_controller::NAME),
            Owner::Other => Some("other.example.com"),
            Owner::BuiltIn | Owner::Both => None,
        };
        let Wanted { name, kind, namespace, driver, request } = self.wanted;
        let mut labels = json!({ENDPOINT_CONTROLLER_NAME: label, NETWORK: name});
        labels["multinetwork.networking.k8s.io/spec.podnetwork.kind"] = json!(kind);
        labels["multinetwork.networking.k8s.io/spec.podnetwork.namespace"] = json!(namespace);
        let annotations = json!({
            "pod-network-controller/dra-driver": driver,
            "pod-network-controller/dra-request": request,
            "pod-network-controller/alongside": (self.owner == Owner::Both).then_some("true"),
        });
        let kind = if self.owner == Owner::Alias { "ExternalName" } else { "ClusterIP" };
        let changes = json!({"metadata": {"labels": labels, "annotations": annotations},
            "spec": {"ipFamilies": ["IPv4"], "type": kind}});
        upsert::<Service>(api, service(self.version, changes));
    }

    /// One change of the cluster, delivered to the cache.
    pub(super) fn step(&mut self, api: &TestApi) {
        let (name, claim) = (self.random.u8(1..=PODS), self.random.u8(1..=CLAIMS));
        match self.random.u8(..18) {
            // A pod of this name, possibly in place of another.
            0..3 => {
                self.lives += 1;
                let state = ModelPod {
                    life: self.lives,
                    ready: self.random.bool(),
                    terminating: false,
                    terminal: false,
                };
                self.pods.insert(name, state);
                self.put_pod(api, name);
            }
            3 => {
                if self.pods.remove(&name).is_some() {
                    api.remove::<Pod>(&format!("db-{name}"));
                }
            }
            4..7 => {
                let change = self.random.u8(..4);
                if let Some(state) = self.pods.get_mut(&name) {
                    match change {
                        0 | 1 => state.ready = !state.ready,
                        2 => state.terminating = true,
                        _ => state.terminal = true,
                    }
                    self.put_pod(api, name);
                }
            }
            // Reserved for a pod that exists, or for one that is gone, or yet to come.
            7..10 => {
                let life = self.pods.get(&name).map_or(self.lives + 1, |state| state.life);
                let model = self.claims.entry(claim).or_default();
                if self.random.bool() {
                    model.pods.clear();
                }
                model.pods.push((name, life));
                self.put_claim(api, claim);
            }
            10..13 => self.report(api, claim),
            13 => {
                if self.claims.remove(&claim).is_some() {
                    api.remove::<ResourceClaim>(&format!("claim-{claim}"));
                }
            }
            14 => {
                self.wanted = Wanted::random(&mut self.random);
                self.put_service(api);
            }
            15 => {
                let others = [Owner::Other, Owner::BuiltIn, Owner::Both, Owner::Alias];
                self.owner = if self.random.bool() { Owner::Ours } else { others[self.random.usize(..4)] };
                self.put_service(api);
            }
            _ => self.restart_kubelet(api),
        }
    }

    /// A driver reports about a device of the claim, or no longer does. Mostly what drivers report.
    fn report(&mut self, api: &TestApi, claim: u8) {
        let random = &mut self.random;
        let is_odd = random.u8(..8) == 0;
        let network = random.usize(if is_odd { PLAIN..NETWORKS.len() } else { 0..PLAIN });
        let reported = match random.u8(..24) {
            0 => Reported::Malformed,
            1 => Reported::Nothing,
            2 | 3 => Reported::Unsuitable(random.u8(1..250)),
            _ => Reported::Address(random.u8(1..250)),
        };
        let ready = [None, Some(true), Some(false)][random.usize(..3)];
        let device =
            Device { reported, ready, driver: usize::from(random.u8(..4) == 0), request: random.usize(..3) };
        let is_gone = random.u8(..4) == 0;
        let devices = &mut self.claims.entry(claim).or_default().devices;
        if is_gone {
            devices.remove(&network);
        } else {
            devices.insert(network, device);
        }
        self.put_claim(api, claim);
    }

    /// A kubelet restarts: pods are not ready and drivers report nothing until the next time.
    fn restart_kubelet(&mut self, api: &TestApi) {
        let is_back = !self.cleared.is_empty();
        for name in self.pods.keys().copied().collect::<Vec<_>>() {
            self.pods.get_mut(&name).unwrap().ready = is_back;
            self.put_pod(api, name);
        }
        if is_back {
            for (name, devices) in std::mem::take(&mut self.cleared) {
                let Some(claim) = self.claims.get_mut(&name) else { continue };
                claim.devices.extend(devices);
                self.put_claim(api, name);
            }
            return;
        }
        for name in self.claims.keys().copied().collect::<Vec<_>>() {
            let devices = std::mem::take(&mut self.claims.get_mut(&name).unwrap().devices);
            self.cleared.insert(name, devices);
            self.put_claim(api, name);
        }
    }

    /// Something that the API server does to the next requests, or the watch to their events.
    pub(super) fn disturb(&mut self, api: &TestApi) {
        match self.random.u8(..10) {
            0 => api.refuse(2),
            1 => api.conflict(2),
            2 => api.lose_answers(1),
            3 => api.hold_events(),
            4 => api.relist(),
            _ => {}
        }
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = String> {
        self.expected().into_iter().map(|(address, ..)| address)
    }

    /// The endpoints that should be published.
    pub(super) fn expected(&self) -> Published {
        let (mut expected, mut networks) = (Published::new(), BTreeSet::new());
        if ![Owner::Ours, Owner::Both].contains(&self.owner) || !self.wanted.is_for_claims() {
            return expected;
        }
        for (name, pod) in self.pods.iter().filter(|(_, pod)| !pod.terminal) {
            let claims = self.claims.values().filter(|claim| claim.pods.contains(&(*name, pod.life)));
            let devices = claims.flat_map(|claim| &claim.devices);
            let devices: Vec<_> =
                devices.filter(|(network, device)| self.wanted.fits(NETWORKS[**network], device)).collect();
            let of_pod: BTreeSet<_> = devices.iter().filter_map(|(network, _)| NETWORKS[**network]).collect();
            let is_malformed = devices.iter().any(|(_, device)| device.reported == Reported::Malformed);
            let address = devices.iter().find_map(|(network, device)| match device.reported {
                Reported::Address(number) => Some(address(**network, number)),
                _ => None,
            });
            // Of several networks, nobody can say which is meant.
            let (1 | 0, false, Some(address)) = (of_pod.len(), is_malformed, address) else { continue };
            networks.extend(of_pod);
            let serving = pod.ready && devices.iter().all(|(_, device)| device.ready != Some(false));
            expected.insert((address, serving && !pod.terminating, serving, pod.terminating));
        }
        if networks.len() > 1 { Published::new() } else { expected }
    }
}

fn status(is: bool) -> &'static str {
    if is { "True" } else { "False" }
}

fn address(network: usize, number: u8) -> String {
    format!("192.168.{}.{number}", 7 + network)
}

fn id(network: usize, device: &Device) -> Value {
    json!({"driver": DRIVERS[device.driver], "pool": "node-1", "device": format!("device-{network}")})
}

/// A device in the status of a claim.
fn report(network: usize, device: &Device) -> Value {
    let conditions = device.ready.map(|ready| json!({"type": "Ready", "status": status(ready)}));
    let ips = match device.reported {
        Reported::Address(number) => vec![format!("{}/24", address(network, number))],
        Reported::Unsuitable(number) => vec![format!("169.254.7.{number}/16")],
        Reported::Malformed => vec!["net1".to_owned()],
        Reported::Nothing => Vec::new(),
    };
    let mut object = id(network, device);
    object["conditions"] = conditions.into_iter().collect();
    object["data"] = match NETWORKS[network] {
        Some(Network { kind, name, namespace }) => {
            json!({"podNetwork": {"kind": kind, "name": name, "namespace": namespace}})
        }
        None => json!({"podNetwork": "storage"}),
    };
    object["networkData"] = json!({"ips": ips});
    object
}
