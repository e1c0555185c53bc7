//! Agreement of `explain` with what upstream writes: many random clusters, each a namespace of one API server, settled by
//! kube-controller-manager.
//!
//! A round applies operations in all namespaces, waits until upstream has settled them, and compares the program's JSON
//! with slices and Endpoints: for each Service and each pod of its namespace, the presence must be the stored one and the
//! verdict `ok`. What upstream leaves to chance or gets wrong is in the table of [`random`](crate::random); it gets the same
//! help here.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream;
use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use random_operations::requests::node_status;
use random_operations::{Generator, Operation};
use serde_json::{Value, json};

use crate::binaries;
use crate::canonical::{MANAGED_BY, MIRRORED, SERVICE_NAME};
use crate::cluster::{Cluster, ClusterOptions, User};
use crate::manager::{Controller, Kind, Manager, ManagerOptions};
use crate::random::{DELETIONS, TOPOLOGY, operation_in};

/// The time that a difference may persist. Only a failure reaches it: upstream gets help after growing times, and more than
/// once.
const PATIENCE: Duration = Duration::from_mins(10);
/// The time that upstream gets without help.
const BEFORE_HELP: Duration = Duration::from_secs(4);
/// The pause between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// Requests in flight.
const CONCURRENCY: usize = 8;
/// The time of all conditions: long ago, so that no difference counts as lag by it.
const NOW: &str = "2001-01-01T00:00:00Z";

/// The clusters of a run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The number of clusters: states of a namespace that are compared.
    pub clusters: usize,
    /// The first seed; each namespace has its own.
    pub seed: u64,
    /// The number of namespaces.
    pub namespaces: usize,
    /// Operations before a state, in each namespace.
    pub operations: usize,
}

/// The result of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Compared states of a namespace.
    pub clusters: usize,
    /// Services in them.
    pub services: usize,
    /// Pairs of a Service and a pod of its namespace.
    pub pairs: usize,
    /// Looks at a cluster that upstream had not settled yet.
    pub repeated: usize,
}

/// One namespace and its trace.
struct Shop {
    namespace: String,
    generator: Generator,
}

/// A run.
struct Site {
    cluster: Cluster,
    client: Client,
    _upstream: Manager,
}

/// Runs and compares.
///
/// # Panics
/// If a difference stays.
pub async fn run(options: Options) -> Report {
    let site = Site::start().await;
    let mut shops = Vec::new();
    for number in 0..options.namespaces.min(options.clusters) {
        let seed = options.seed + u64::try_from(number).unwrap();
        let shop =
            Shop { namespace: format!("c{seed}"), generator: Generator::new(seed, TOPOLOGY, true, true) };
        let namespace = json!({"metadata": {"name": shop.namespace}});
        create::<Namespace>(&Api::all(site.client.clone()), namespace).await;
        shops.push(shop);
    }
    let mut report = Report::default();
    // The first state needs objects.
    let mut operations = 50;
    while report.clusters < options.clusters {
        shops.truncate(options.clusters - report.clusters);
        let changes =
            shops.iter_mut().enumerate().map(|(number, shop)| site.change(shop, operations, number == 0));
        stream::iter(changes).buffer_unordered(CONCURRENCY).collect::<Vec<()>>().await;
        site.compared(&shops, &mut report).await;
        operations = options.operations;
    }
    report
}

impl Site {
    async fn start() -> Self {
        let cluster = Cluster::start(ClusterOptions::default()).await;
        let client = cluster.client();
        for (name, cpu) in [("a", 2), ("b", 3), ("c", 5)] {
            let metadata = json!({"name": name, "labels": {"topology.kubernetes.io/zone": name}});
            let node = json!({"metadata": metadata, "status": node_status(cpu, true)});
            create::<Node>(&Api::all(client.clone()), node).await;
        }
        let upstream = Manager::start(Kind::Upstream, &cluster, &ManagerOptions::of(Controller::ALL)).await;
        Self { cluster, client, _upstream: upstream }
    }

    /// Applies operations. Nodes belong to all namespaces, so that one trace alone changes them.
    ///
    /// Upstream gets stuck on a Service that is created again before it noticed the deletion: a deletion is the last.
    async fn change(&self, shop: &mut Shop, operations: usize, with_nodes: bool) {
        for _ in 0..operations {
            let step = shop.generator.step();
            if step.operation.is_of_node() && !with_nodes {
                continue;
            }
            let applied = operation_in(&self.client, &shop.namespace, NOW, &step.operation).await;
            applied.unwrap_or_else(|error| panic!("{} is refused in {}: {error}", step, shop.namespace));
            if matches!(step.operation, Operation::DeleteService { .. }) {
                return;
            }
        }
    }

    /// Waits until nothing differs.
    async fn compared(&self, shops: &[Shop], report: &mut Report) {
        let (start, mut help_after, mut helped) = (Instant::now(), Duration::ZERO, 0);
        loop {
            if start.elapsed() >= help_after {
                self.touch().await;
                help_after = (start.elapsed() * 2).max(BEFORE_HELP);
            }
            tokio::time::sleep(PERIOD).await;
            let state = State::read(&self.client).await;
            let explained = explained(&self.cluster.kubeconfig(User::Admin));
            let (wrong, counted) = state.compare(shops, &explained);
            if wrong.is_empty() {
                report.clusters += shops.len();
                report.services += counted.services;
                report.pairs += counted.pairs;
                return;
            }
            report.repeated += 1;
            let lines: Vec<String> = wrong.values().cloned().collect();
            assert!(start.elapsed() < PATIENCE, "after {report:?}:\n{}", lines.join("\n"));
            if start.elapsed() >= help_after {
                helped += 1;
                for (namespace, service) in wrong.keys() {
                    self.restart_mirrors(namespace, service).await;
                    if helped > DELETIONS {
                        self.recreate_endpoints(namespace, service).await;
                    }
                }
            }
        }
    }

    /// Makes upstream sync all Services again.
    async fn touch(&self) {
        let services: Api<Service> = Api::all(self.client.clone());
        let mark = jiff::Timestamp::now().to_string();
        let all = services.list(&ListParams::default()).await.expect("listing Services");
        let touches = all.into_iter().map(|service| {
            let patch = Patch::Merge(json!({"metadata": {"annotations": {"touched": mark}}}));
            let namespace = service.namespace().unwrap_or_default();
            let api: Api<Service> = Api::namespaced(self.client.clone(), &namespace);
            async move { api.patch(&service.name_any(), &PatchParams::default(), &patch).await.map(drop) }
        });
        let touched: Vec<_> = stream::iter(touches).buffer_unordered(CONCURRENCY).collect().await;
        touched.into_iter().collect::<Result<Vec<()>, _>>().expect("touching Services");
    }

    /// Deletes the mirrored slices of a Service, so that upstream starts again.
    async fn restart_mirrors(&self, namespace: &str, service: &str) {
        let slices: Api<EndpointSlice> = Api::namespaced(self.client.clone(), namespace);
        let query =
            ListParams::default().labels(&format!("{SERVICE_NAME}={service},{MANAGED_BY}={MIRRORED}"));
        for slice in slices.list(&query).await.expect("listing slices") {
            // It may be gone.
            let _ = slices.delete(&slice.name_any(), &DeleteParams::default()).await;
        }
    }

    /// Deletes the Endpoints of a Service without a selector, and creates them again after a time in which upstream notices:
    /// see [`DELETIONS`].
    async fn recreate_endpoints(&self, namespace: &str, service: &str) {
        let services: Api<Service> = Api::namespaced(self.client.clone(), namespace);
        let found = services.get_opt(service).await.expect("reading a Service");
        if found.and_then(|service| service.spec).is_none_or(|spec| spec.selector.is_some()) {
            return;
        }
        let api: Api<Endpoints> = Api::namespaced(self.client.clone(), namespace);
        let Some(mut endpoints) = api.get_opt(service).await.expect("reading Endpoints") else { return };
        api.delete(service, &DeleteParams::default()).await.expect("deleting Endpoints");
        tokio::time::sleep(PERIOD).await;
        endpoints.metadata.resource_version = None;
        endpoints.metadata.uid = None;
        api.create(&PostParams::default(), &endpoints).await.expect("creating Endpoints again");
    }
}

/// The report of the program.
fn explained(kubeconfig: &Path) -> BTreeMap<(String, String), Value> {
    let flag = format!("--kubeconfig={}", kubeconfig.display());
    let output = Command::new(binaries::kubectl_endpoints())
        .args(["explain", "-A", "-o", "json", &flag])
        .output()
        .expect("running the program");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{stderr}"));
    let services = document["services"].as_array().expect("a list").clone();
    let text = |report: &Value, field: &str| report[field].as_str().unwrap_or_default().to_owned();
    services.into_iter().map(|report| ((text(&report, "namespace"), text(&report, "name")), report)).collect()
}

/// The stored objects, read by this test alone.
struct State {
    services: Vec<(String, String)>,
    pods: Vec<(String, String)>,
    /// The conditions of each endpoint, by namespace, Service and pod.
    in_slices: BTreeMap<[String; 3], &'static str>,
    in_endpoints: BTreeMap<[String; 3], &'static str>,
}

impl State {
    async fn read(client: &Client) -> Self {
        async fn list<K>(client: &Client) -> Vec<Value>
        where
            K: kube::Resource<DynamicType = ()>
                + Clone
                + serde::de::DeserializeOwned
                + serde::Serialize
                + std::fmt::Debug,
        {
            let all = Api::<K>::all(client.clone()).list(&ListParams::default()).await.expect("a list");
            all.items.iter().map(|item| serde_json::to_value(item).expect("JSON")).collect()
        }
        let key = |object: &Value| (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        let mut state = Self {
            services: list::<Service>(client).await.iter().map(key).collect(),
            pods: list::<Pod>(client).await.iter().map(key).collect(),
            in_slices: BTreeMap::new(),
            in_endpoints: BTreeMap::new(),
        };
        for slice in list::<EndpointSlice>(client).await {
            let service = slice["metadata"]["labels"][SERVICE_NAME].as_str().unwrap_or_default().to_owned();
            for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
                let is = |condition: &str| endpoint["conditions"][condition] == true;
                let found = match (is("ready"), is("serving") && is("terminating")) {
                    (true, _) => "ready",
                    (false, true) => "serving",
                    (false, false) => "notReady",
                };
                if let Some(pod) = endpoint.pointer("/targetRef/name").and_then(Value::as_str) {
                    let key = [key(&slice).0, service.clone(), pod.to_owned()];
                    better(state.in_slices.entry(key).or_insert(found), found);
                }
            }
        }
        for endpoints in list::<Endpoints>(client).await {
            let (namespace, name) = key(&endpoints);
            for subset in endpoints["subsets"].as_array().into_iter().flatten() {
                for (list, found) in [("addresses", "ready"), ("notReadyAddresses", "notReady")] {
                    for address in subset[list].as_array().into_iter().flatten() {
                        if let Some(pod) = address.pointer("/targetRef/name").and_then(Value::as_str) {
                            let key = [namespace.clone(), name.clone(), pod.to_owned()];
                            better(state.in_endpoints.entry(key).or_insert(found), found);
                        }
                    }
                }
            }
        }
        state
    }

    /// The Services about which the program says something else, each with a line.
    fn compare(
        &self,
        shops: &[Shop],
        explained: &BTreeMap<(String, String), Value>,
    ) -> (BTreeMap<(String, String), String>, Report) {
        let (mut wrong, mut counted) = (BTreeMap::new(), Report::default());
        let compared =
            |(namespace, _): &&(String, String)| shops.iter().any(|shop| shop.namespace == *namespace);
        for key in self.services.iter().filter(compared) {
            counted.services += 1;
            let Some(report) = explained.get(key) else {
                wrong.insert(key.clone(), format!("{key:?}: no report"));
                continue;
            };
            let mut lines = Vec::new();
            if report["verdict"] != "ok" || report.to_string().contains("\"unexplained\"") {
                lines.push(format!("verdict {}", report["verdict"]));
            }
            for (_, pod) in self.pods.iter().filter(|(namespace, _)| *namespace == key.0) {
                counted.pairs += 1;
                let row = report["pods"].as_array().into_iter().flatten().find(|row| row["name"] == **pod);
                let place = [key.0.clone(), key.1.clone(), pod.clone()];
                for (field, stored) in [("slices", &self.in_slices), ("endpoints", &self.in_endpoints)] {
                    let stored = stored.get(&place).copied().unwrap_or("absent");
                    let said = row.and_then(|row| row[field].as_str()).unwrap_or("absent");
                    if stored != said && !(stored == "absent" && said == "notApplicable") {
                        lines.push(format!("{pod} is {stored} in {field}, and said to be {said}"));
                    }
                }
            }
            if !lines.is_empty() {
                wrong.insert(key.clone(), format!("{}/{}: {}: {report}", key.0, key.1, lines.join(", ")));
            }
        }
        (wrong, counted)
    }
}

/// Of several entries of a pod, the best counts.
fn better(known: &mut &'static str, found: &'static str) {
    let rank = |state: &str| ["ready", "serving", "notReady"].iter().position(|it| *it == state);
    if rank(found) < rank(known) {
        *known = found;
    }
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

async fn create<K>(api: &Api<K>, object: Value)
where
    K: Clone + serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let object = serde_json::from_value(object).expect("an object of its kind");
    api.create(&PostParams::default(), &object).await.expect("creating an object");
}
