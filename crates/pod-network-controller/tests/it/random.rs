//! Random histories of claims, pods and the Service, against an oracle with rules of its own: each slice that is written has only
//! addresses that were right since the last rest, and at rest the slices have exactly those that are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use controller_harness::{NAMESPACE, TestApi};
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Node, Pod, Service};
use fastrand::Rng;
use pod_network_controller::ResourceClaim;
use serde_json::{Value, json};

use crate::support::{NETWORK, pod, run, service, upsert};

const NETWORKS: [&str; 2] = ["storage", "backup"];
/// A device in another network with the name of the first, and one whose network cannot be read.
const NAMESAKE: usize = 2;
const UNREADABLE: usize = 3;
/// The last part of an address that cannot be read.
const MALFORMED: u8 = 0;
const PODS: u8 = 4;
const CLAIMS: u8 = 5;
/// Operations of a history.
const STEPS: usize = 30;

/// A pod of the model. `life` counts the pods that had its name.
#[derive(Clone, Copy)]
struct ModelPod {
    life: u32,
    ready: bool,
    terminating: bool,
    terminal: bool,
}

/// A claim of the model: the pods that it is reserved for, by name and life, and its devices by network.
#[derive(Clone, Default)]
struct ModelClaim {
    pods: Vec<(u8, u32)>,
    devices: BTreeMap<usize, (u8, Option<bool>)>,
}

/// The objects of the cluster.
struct Model {
    random: Rng,
    version: u32,
    lives: u32,
    pods: BTreeMap<u8, ModelPod>,
    claims: BTreeMap<u8, ModelClaim>,
    /// The devices of claims whose kubelet restarts, to be reported again.
    cleared: BTreeMap<u8, BTreeMap<usize, (u8, Option<bool>)>>,
    network: usize,
    owner: Owner,
}

/// The reader of the Service.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Ours,
    Other,
    /// The built-in controller, by the absence of a label.
    BuiltIn,
    /// Ours, of type `ExternalName`.
    Alias,
}

/// An endpoint: address, ready, serving, terminating.
type Published = BTreeSet<(String, bool, bool, bool)>;

impl Model {
    fn new(seed: u64) -> Self {
        let (pods, claims, cleared) = Default::default();
        let (random, owner) = (Rng::with_seed(seed), Owner::Ours);
        Self { random, version: 0, lives: 0, pods, claims, cleared, network: 0, owner }
    }

    fn uid(name: u8, life: u32) -> String {
        format!("uid-{name}-{life}")
    }

    fn put_pod(&mut self, api: &TestApi, name: u8) {
        self.version += 1;
        let state = self.pods[&name];
        let status = |is: bool| if is { "True" } else { "False" };
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
        let device = |(network, (number, ready)): (&usize, &(u8, Option<bool>))| {
            let status = |ready: bool| if ready { "True" } else { "False" };
            let conditions: Vec<Value> =
                ready.iter().map(|ready| json!({"type": "Ready", "status": status(*ready)})).collect();
            let data = match *network {
                NAMESAKE => json!({"kind": "Other", "name": NETWORKS[0]}),
                UNREADABLE => json!(NETWORKS[0]),
                _ => json!({"name": NETWORKS[*network]}),
            };
            let address = match *number {
                MALFORMED => "net1".to_owned(),
                number => format!("{}/24", Self::address(*network, number)),
            };
            json!({"driver": "net.example.com", "pool": "node-1", "device": format!("device-{network}"),
                "conditions": conditions, "data": {"podNetwork": data}, "networkData": {"ips": [address]}})
        };
        let object = json!({
            "metadata": {"name": format!("claim-{name}"), "namespace": NAMESPACE,
                "resourceVersion": self.version.to_string()},
            "status": {"reservedFor": claim.pods.iter().map(consumer).collect::<Vec<_>>(),
                "devices": claim.devices.iter().map(device).collect::<Vec<_>>()},
        });
        upsert::<ResourceClaim>(api, object);
    }

    fn put_service(&mut self, api: &TestApi) {
        self.version += 1;
        let owner = match self.owner {
            Owner::Ours | Owner::Alias => Some(pod_network_controller::NAME),
            Owner::Other => Some("other.example.com"),
            Owner::BuiltIn => None,
        };
        let kind = if self.owner == Owner::Alias { "ExternalName" } else { "ClusterIP" };
        let labels = json!({ENDPOINT_CONTROLLER_NAME: owner, NETWORK: NETWORKS[self.network]});
        let changes = json!({"metadata": {"labels": labels}, "spec": {"ipFamilies": ["IPv4"], "type": kind}});
        upsert::<Service>(api, service(self.version, changes));
    }

    fn address(network: usize, number: u8) -> String {
        format!("192.168.{}.{number}", 7 + network)
    }

    /// One change of the cluster, delivered to the cache.
    fn step(&mut self, api: &TestApi) {
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
            10..13 => {
                // Mostly what drivers report.
                let is_odd = self.random.u8(..8) == 0;
                let network =
                    self.random.usize(if is_odd { NAMESAKE..=UNREADABLE } else { 0..=NETWORKS.len() - 1 });
                let number = if self.random.u8(..16) == 0 { MALFORMED } else { self.random.u8(1..250) };
                let ready = [None, Some(true), Some(false)][self.random.usize(..3)];
                let model = self.claims.entry(claim).or_default();
                if self.random.u8(..4) == 0 {
                    model.devices.remove(&network);
                } else {
                    model.devices.insert(network, (number, ready));
                }
                self.put_claim(api, claim);
            }
            13 => {
                if self.claims.remove(&claim).is_some() {
                    api.remove::<ResourceClaim>(&format!("claim-{claim}"));
                }
            }
            14 => {
                self.network = self.random.usize(..NETWORKS.len());
                self.put_service(api);
            }
            15 => {
                let owners =
                    [Owner::Ours, Owner::Ours, Owner::Ours, Owner::Other, Owner::BuiltIn, Owner::Alias];
                self.owner = owners[self.random.usize(..owners.len())];
                self.put_service(api);
            }
            _ => self.restart_kubelet(api),
        }
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
    fn disturb(&mut self, api: &TestApi) {
        match self.random.u8(..10) {
            0 => api.refuse(2),
            1 => api.conflict(2),
            2 => api.lose_answers(1),
            3 => api.hold_events(),
            4 => api.relist(),
            _ => {}
        }
    }

    fn addresses(&self) -> impl Iterator<Item = String> {
        self.expected().into_iter().map(|(address, ..)| address)
    }

    /// The endpoints that should be published.
    fn expected(&self) -> Published {
        let (mut expected, mut networks) = (Published::new(), BTreeSet::new());
        if self.owner != Owner::Ours {
            return expected;
        }
        for (name, pod) in self.pods.iter().filter(|(_, pod)| !pod.terminal) {
            let claims = self.claims.values().filter(|claim| claim.pods.contains(&(*name, pod.life)));
            let claims: Vec<_> = claims.collect();
            let devices: Vec<_> =
                claims.iter().filter_map(|claim| claim.devices.get(&self.network)).collect();
            let namesakes: Vec<_> = claims.iter().filter_map(|claim| claim.devices.get(&NAMESAKE)).collect();
            let (network, devices) = match (self.network, devices.is_empty(), namesakes.is_empty()) {
                // Alone it is in a network of the name; beside one of the first, nobody can say which is meant.
                (0, true, false) => (NAMESAKE, namesakes),
                (0, false, false) => continue,
                (network, ..) => (network, devices),
            };
            let Some((first, _)) = devices.first() else { continue };
            if devices.iter().any(|(address, _)| *address == MALFORMED) {
                continue;
            }
            networks.insert(network);
            let serving = pod.ready && devices.iter().all(|(_, ready)| *ready != Some(false));
            let address = Self::address(network, *first);
            expected.insert((address, serving && !pod.terminating, serving, pod.terminating));
        }
        // Nobody can say which of the two is meant.
        if networks.len() > 1 { Published::new() } else { expected }
    }
}

fn published(api: &TestApi) -> Published {
    let endpoints = api.endpoints("db").into_iter();
    let with_conditions = endpoints.map(|endpoint| {
        let [address] = endpoint.addresses.as_slice() else { panic!("{:?}", endpoint.addresses) };
        let conditions = endpoint.conditions.unwrap();
        let [ready, serving, terminating] =
            [conditions.ready, conditions.serving, conditions.terminating].map(Option::unwrap);
        (address.clone(), ready, serving, terminating)
    });
    with_conditions.collect()
}

/// The addresses that may be written from now on. A write of any other ends the test.
fn watch_writes(api: &TestApi, seed: u64) -> Arc<Mutex<BTreeSet<String>>> {
    let right = Arc::new(Mutex::new(BTreeSet::new()));
    let allowed = Arc::clone(&right);
    api.refuse_if(move |slice| {
        let addresses = slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses);
        let allowed = allowed.lock().unwrap();
        let wrong: Vec<_> = addresses.filter(|address| !allowed.contains(*address)).collect();
        assert!(
            wrong.is_empty(),
            "seed {seed}: wrote {wrong:?}, and only {allowed:?} were right since the last rest"
        );
        false
    });
    right
}

/// Waits until the controller makes no request for 5 s, at most `times` periods of 5 s. Two suffice if no request fails; a back-off
/// needs more.
async fn rest(api: &TestApi, times: usize) -> Result<(), Vec<String>> {
    let mut requests = Vec::new();
    for _ in 0..times {
        api.forget_requests();
        api.settle().await;
        requests = api.requests();
        if requests.is_empty() {
            return Ok(());
        }
    }
    Err(requests)
}

async fn history(seed: u64) {
    let api = TestApi::default();
    upsert::<Node>(&api, json!({"metadata": {"name": "node-1"}}));
    let mut model = Model::new(seed);
    model.put_service(&api);
    let right = watch_writes(&api, seed);
    let is_calm = seed.is_multiple_of(4);
    if seed.is_multiple_of(3) {
        // An admission webhook that labels each slice.
        api.mutate(|slice| {
            slice.metadata.annotations.get_or_insert_default().insert("injected".into(), "yes".into());
        });
    }
    let mut running = run(&api);
    for step in 0..STEPS {
        *right.lock().unwrap() = model.addresses().collect();
        if !is_calm {
            model.disturb(&api);
        }
        for _ in 0..model.random.u8(1..4) {
            model.step(&api);
            right.lock().unwrap().extend(model.addresses());
        }
        api.advance(Duration::from_millis(20)).await;
        api.release_events();
        if model.random.u8(..8) == 0 {
            running.stop().await;
            running = run(&api);
        }
        assert_eq!(
            rest(&api, if is_calm { 2 } else { 12 }).await,
            Ok(()),
            "seed {seed}, step {step}: writes without end"
        );
        assert_eq!(published(&api), model.expected(), "seed {seed}, step {step}");
    }
    running.stop().await;
}

/// `POD_NETWORK_SEEDS` is the number of histories, `POD_NETWORK_FROM` the first seed.
#[tokio::test(start_paused = true)]
async fn random_histories_end_with_the_addresses_of_the_network() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let from = number("POD_NETWORK_FROM", 0);
    for seed in from..from + number("POD_NETWORK_SEEDS", 100) {
        history(seed).await;
    }
}
