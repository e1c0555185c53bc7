//! Random histories of claims, pods and the Service, against an oracle with rules of its own.

use std::collections::{BTreeMap, BTreeSet};

use controller_harness::{NAMESPACE, TestApi};
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Node, Pod, Service};
use fastrand::Rng;
use pod_network_controller::ResourceClaim;
use serde_json::{Value, json};

use crate::support::{NETWORK, methods, pod, run, service, upsert};

const NETWORKS: [&str; 2] = ["storage", "backup"];
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

/// What exists.
struct Model {
    random: Rng,
    version: u32,
    lives: u32,
    pods: BTreeMap<u8, ModelPod>,
    claims: BTreeMap<u8, ModelClaim>,
    network: usize,
    labelled: bool,
}

/// An endpoint: address, ready, serving, terminating.
type Published = BTreeSet<(String, bool, bool, bool)>;

impl Model {
    fn new(seed: u64) -> Self {
        let (pods, claims) = Default::default();
        Self { random: Rng::with_seed(seed), version: 0, lives: 0, pods, claims, network: 0, labelled: true }
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
            json!({"driver": "net.example.com", "pool": "node-1", "device": NETWORKS[*network],
                "conditions": conditions, "data": {"podNetwork": {"name": NETWORKS[*network]}},
                "networkData": {"ips": [format!("{}/24", Self::address(*network, *number))]}})
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
        let owner = if self.labelled { pod_network_controller::NAME } else { "other.example.com" };
        let labels = json!({ENDPOINT_CONTROLLER_NAME: owner, NETWORK: NETWORKS[self.network]});
        upsert::<Service>(
            api,
            service(self.version, json!({"metadata": {"labels": labels}, "spec": {"ipFamilies": ["IPv4"]}})),
        );
    }

    fn address(network: usize, number: u8) -> String {
        format!("192.168.{}.{number}", 7 + network)
    }

    /// One change of the cluster, delivered to the cache.
    fn step(&mut self, api: &TestApi) {
        let (name, claim) = (self.random.u8(1..=PODS), self.random.u8(1..=CLAIMS));
        match self.random.u8(..16) {
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
                let (network, number) = (self.random.usize(..NETWORKS.len()), self.random.u8(1..250));
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
            _ => {
                self.labelled = self.random.u8(..3) > 0;
                self.put_service(api);
            }
        }
    }

    /// The endpoints that should be published.
    fn expected(&self) -> Published {
        let mut expected = Published::new();
        if !self.labelled {
            return expected;
        }
        for (name, pod) in self.pods.iter().filter(|(_, pod)| !pod.terminal) {
            let claims = self.claims.values().filter(|claim| claim.pods.contains(&(*name, pod.life)));
            let devices: Vec<_> = claims.filter_map(|claim| claim.devices.get(&self.network)).collect();
            let Some((first, _)) = devices.first() else { continue };
            let serving = pod.ready && devices.iter().all(|(_, ready)| *ready != Some(false));
            let address = Self::address(self.network, *first);
            expected.insert((address, serving && !pod.terminating, serving, pod.terminating));
        }
        expected
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

async fn history(seed: u64) {
    let api = TestApi::default();
    upsert::<Node>(&api, json!({"metadata": {"name": "node-1"}}));
    let mut model = Model::new(seed);
    model.put_service(&api);
    let mut running = run(&api);
    for step in 0..STEPS {
        for _ in 0..model.random.u8(1..4) {
            model.step(&api);
        }
        if model.random.u8(..8) == 0 {
            running.stop().await;
            running = run(&api);
        }
        api.settle().await;
        assert_eq!(published(&api), model.expected(), "seed {seed}, step {step}");
        let before = published(&api);
        api.forget_requests();
        api.settle().await;
        assert!(
            methods(&api).is_empty() && published(&api) == before,
            "seed {seed}, step {step}: a write without a change"
        );
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
