//! A workload as a script: create pods and Services, make pods ready, terminate them, change labels.
//!
//! All names, addresses and times are fixed by the script, so that two runs agree.

use std::sync::atomic::{AtomicI64, Ordering};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{self as core, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::barrier::{Barrier, workers_rest};
use crate::manager::Controller;
use crate::pages::Pages;
use crate::requests::create;
use crate::wait::{self, LIMIT};

pub use random_operations::{NAMESPACE, YEAR};

/// Requests in flight while many pods are created.
const CONCURRENCY: usize = 8;

/// A pod to create.
#[derive(Debug, Clone)]
pub struct Pod {
    name: String,
    labels: Value,
    spec: Value,
    ips: Vec<String>,
    phase: &'static str,
    ready: Option<bool>,
}

impl Pod {
    /// A ready pod on node `a` with label `app` and an address of each family made from `number`.
    pub fn new(name: &str, app: &str, number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        Self {
            name: name.to_owned(),
            labels: json!({"app": app}),
            spec: json!({"nodeName": "a", "containers": [{"name": "main", "image": "none"}]}),
            ips: vec![format!("10.1.{high}.{low}"), format!("fd00:1::{number:x}")],
            phase: "Running",
            ready: Some(true),
        }
    }

    /// With another label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels[key] = json!(value);
        self
    }

    /// With a container port.
    #[must_use]
    pub fn port(mut self, name: &str, port: u16, protocol: &str) -> Self {
        let port = json!({"name": name, "containerPort": port, "protocol": protocol});
        let container = &mut self.spec["containers"][0];
        match container.get_mut("ports").and_then(Value::as_array_mut) {
            Some(ports) => ports.push(port),
            None => container["ports"] = json!([port]),
        }
        self
    }

    /// With more fields in its spec.
    #[must_use]
    pub fn spec(mut self, key: &str, value: Value) -> Self {
        self.spec[key] = value;
        self
    }

    /// On another node.
    #[must_use]
    pub fn node(self, node: &str) -> Self {
        self.spec("nodeName", json!(node))
    }

    /// With other addresses.
    #[must_use]
    pub fn ips(mut self, ips: &[&str]) -> Self {
        self.ips = ips.iter().map(ToString::to_string).collect();
        self
    }

    /// Ready, not ready, or without the condition.
    #[must_use]
    pub fn ready(mut self, ready: Option<bool>) -> Self {
        self.ready = ready;
        self
    }

    /// In another phase.
    #[must_use]
    pub fn phase(mut self, phase: &'static str) -> Self {
        self.phase = phase;
        self
    }
}

/// A cluster with the nodes and namespaces of the workload.
pub struct World {
    client: Client,
    services: Api<Service>,
    pods: Api<core::Pod>,
    slices: Api<EndpointSlice>,
    barrier: Barrier,
    controllers: &'static [Controller],
    /// Those of the manager, if its workers are waited for.
    manager: Option<Pages>,
    /// Seconds since the beginning of [`YEAR`], the script's clock; one per [`World::sync`].
    clock: AtomicI64,
}

impl World {
    /// Prepares a cluster for these controllers: the namespace, nodes `a` and `b` in zones of the same names, node
    /// `c` without one.
    pub async fn prepare(client: Client, controllers: &'static [Controller]) -> Self {
        let barrier = Barrier::place(&client, controllers).await;
        let world = Self {
            services: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            slices: Api::namespaced(client.clone(), NAMESPACE),
            barrier,
            controllers,
            manager: None,
            client,
            clock: AtomicI64::new(0),
        };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        create(&world.client, &namespace).await.expect("creating a namespace");
        world.node("a", Some("a")).await;
        world.node("b", Some("b")).await;
        world.node("c", None).await;
        world
    }

    /// Waits from now on also until the workers of the manager with these pages are at rest. Two changes can then never be
    /// handled as one, however slow a worker is.
    pub fn watch_workers(&mut self, manager: &Pages) {
        self.manager = Some(manager.clone());
    }

    /// Waits until these workers are at rest: what they have written is then in the audit log.
    pub async fn workers_rest(&self) {
        if let Some(pages) = &self.manager {
            workers_rest(self.controllers, pages).await;
        }
    }

    /// A client of the operator.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The slices of the workload's namespace, for changes by another client.
    pub fn slices(&self) -> &Api<EndpointSlice> {
        &self.slices
    }

    /// Waits until the controllers have handled all earlier changes; advances the script's clock.
    pub async fn sync(&self) {
        self.barrier.wait().await;
        self.workers_rest().await;
        self.clock.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until the controllers have also handled delayed syncs; takes time.
    pub async fn settle(&self) {
        self.barrier.settle().await;
        self.workers_rest().await;
        self.clock.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until the controllers have seen all earlier changes of nodes; does not advance the script's clock.
    pub async fn sync_nodes(&self) {
        self.barrier.nodes_seen().await;
    }

    /// Creates a node.
    pub async fn node(&self, name: &str, zone: Option<&str>) {
        let labels = zone.map(|zone| json!({"topology.kubernetes.io/zone": zone}));
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
        create(&self.client, &node).await.expect("creating a node");
    }

    /// Creates a Service.
    pub async fn service(&self, name: &str, labels: Value, spec: Value) {
        let service = json!({"metadata": {"name": name, "labels": labels}, "spec": spec});
        let service = serde_json::from_value(service).unwrap();
        let created = self.services.create(&PostParams::default(), &service).await;
        created.unwrap_or_else(|error| panic!("creating Service {name}: {error}"));
    }

    /// Changes a Service with a merge patch.
    pub async fn change_service(&self, name: &str, change: Value) {
        let changed = self.services.patch(name, &PatchParams::default(), &Patch::Merge(change)).await;
        changed.unwrap_or_else(|error| panic!("changing Service {name}: {error}"));
    }

    /// Deletes a Service.
    pub async fn delete_service(&self, name: &str) {
        let deleted = self.services.delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("deleting Service {name}: {error}"));
    }

    /// Creates Endpoints by hand.
    pub async fn endpoints(&self, name: &str, subset: Value) {
        let metadata = json!({"name": name, "namespace": NAMESPACE});
        let endpoints =
            json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]});
        let created = create(&self.client, &endpoints).await;
        created.unwrap_or_else(|error| panic!("creating Endpoints {name}: {error}"));
    }

    /// Creates a pod and sets its status, in two steps like a scheduler and a kubelet.
    pub async fn pod(&self, pod: Pod) {
        let object = json!({"metadata": {"name": pod.name, "labels": pod.labels}, "spec": pod.spec});
        let object = serde_json::from_value(object).unwrap();
        let created = self.pods.create(&PostParams::default(), &object).await;
        created.unwrap_or_else(|error| panic!("creating pod {}: {error}", pod.name));
        let mut status = json!({"phase": pod.phase, "conditions": self.conditions(pod.ready)});
        if let Some(first) = pod.ips.first() {
            status["podIP"] = json!(first);
            status["podIPs"] = pod.ips.iter().map(|ip| json!({"ip": ip})).collect();
        }
        self.status(&pod.name, status).await;
    }

    /// Creates many pods, several at a time.
    pub async fn pods(&self, pods: impl IntoIterator<Item = Pod>) {
        futures::stream::iter(pods).for_each_concurrent(CONCURRENCY, |pod| self.pod(pod)).await;
    }

    /// Changes the readiness of a pod.
    pub async fn ready(&self, name: &str, ready: bool) {
        self.status(name, json!({"conditions": self.conditions(Some(ready))})).await;
    }

    /// Changes the addresses of a pod.
    pub async fn ips(&self, name: &str, ips: &[&str]) {
        let all: Vec<_> = ips.iter().map(|ip| json!({"ip": ip})).collect();
        self.status(name, json!({"podIP": ips.first(), "podIPs": all})).await;
    }

    /// Ends a pod's containers, `Succeeded` or `Failed`, in one update with its readiness, as a kubelet does. The phase
    /// alone would not make upstream sync the pod's Services.
    pub async fn end(&self, name: &str, phase: &str) {
        self.status(name, json!({"phase": phase, "conditions": self.conditions(Some(false))})).await;
    }

    /// Changes the labels of a pod with a merge patch.
    pub async fn relabel(&self, name: &str, labels: Value) {
        let change = json!({"metadata": {"labels": labels}});
        let changed = self.pods.patch(name, &PatchParams::default(), &Patch::Merge(change)).await;
        changed.unwrap_or_else(|error| panic!("relabelling pod {name}: {error}"));
    }

    /// Begins the deletion of a pod: it terminates until it is [gone](Self::gone), as no kubelet runs.
    pub async fn terminate(&self, name: &str) {
        let deleted = self.pods.delete(name, &DeleteParams::default().grace_period(30)).await;
        deleted.unwrap_or_else(|error| panic!("terminating pod {name}: {error}"));
    }

    /// Removes a pod. If it does not terminate yet, watchers see it terminate first.
    pub async fn gone(&self, name: &str) {
        let deleted = self.pods.delete(name, &DeleteParams::default().grace_period(0)).await;
        deleted.unwrap_or_else(|error| panic!("deleting pod {name}: {error}"));
    }

    /// Waits until the slices of a Service and family have `total` endpoints, of which `ready` are ready.
    pub async fn expect(&self, service: &str, family: &str, total: usize, ready: usize) {
        let what = format!("{total} endpoints of {service} {family}, {ready} of them ready");
        wait::until(&what, LIMIT, || async {
            let slices = self.slices_of(service, family).await?;
            let endpoints = || slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
            let is_ready = |conditions: Option<&_>| {
                conditions.and_then(|c: &k8s_openapi::api::discovery::v1::EndpointConditions| c.ready)
            };
            let found = endpoints().count();
            let found_ready = endpoints().filter(|e| is_ready(e.conditions.as_ref()) == Some(true)).count();
            if (found, found_ready) == (total, ready) {
                Ok(())
            } else {
                Err(format!("{found} endpoints, {found_ready} ready"))
            }
        })
        .await;
    }

    /// Waits until the slices of a Service and family have these sizes, in descending order.
    pub async fn expect_sizes(&self, service: &str, family: &str, sizes: &[usize]) {
        wait::until(&format!("slices of {service} {family} of sizes {sizes:?}"), LIMIT, || async {
            let slices = self.slices_of(service, family).await?;
            let mut found: Vec<usize> =
                slices.iter().map(|slice| slice.endpoints.iter().flatten().count()).collect();
            found.sort_unstable_by(|a, b| b.cmp(a));
            if found == sizes { Ok(()) } else { Err(format!("sizes {found:?}")) }
        })
        .await;
    }

    /// All slices of a Service and family, of any controller, by name.
    pub async fn slices_of(&self, service: &str, family: &str) -> Result<Vec<EndpointSlice>, String> {
        let query = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
        let list = self.slices.list(&query).await.map_err(|error| error.to_string())?;
        let mut slices = list.items;
        slices.retain(|slice| slice.address_type == family);
        slices.sort_by_key(ResourceExt::name_any);
        Ok(slices)
    }

    async fn status(&self, name: &str, status: Value) {
        let change = Patch::Merge(json!({"status": status}));
        let changed = self.pods.patch_status(name, &PatchParams::default(), &change).await;
        changed.unwrap_or_else(|error| panic!("changing the status of pod {name}: {error}"));
    }

    /// The time of the test's clock.
    pub(crate) fn now(&self) -> String {
        let midnight: jiff::Timestamp = format!("{YEAR}-01-01T00:00:00Z").parse().expect("a time");
        let elapsed = jiff::SignedDuration::from_secs(self.clock.load(Ordering::Relaxed));
        (midnight + elapsed).to_string()
    }

    /// The conditions of a pod whose readiness changes now.
    pub(crate) fn conditions(&self, ready: Option<bool>) -> Value {
        let now = self.now();
        match ready {
            None => json!([]),
            Some(ready) => json!([{
                "type": "Ready",
                "status": if ready { "True" } else { "False" },
                "lastTransitionTime": now,
            }]),
        }
    }
}
