//! A cluster, our program in it, and the published state of a Service.

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tests::audit::Mark;
use tests::barrier::workers_rest;
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::{self, LIMIT};

const LABEL: &str = "service.kubernetes.io/endpoint-controller-name";
pub(crate) const SLICES: &str = "endpointslice-controller.k8s.io";
pub(crate) const MIRRORED: &str = "endpointslicemirroring-controller.k8s.io";
pub(crate) const ENDPOINTS: &str = "endpoint-controller";
/// The name of another controller.
pub(crate) const OTHER_CONTROLLER: &str = "controller.example";

pub(crate) const DELEGATION: &str = "EndpointControllerNameWellKnownLabel=true";
/// All gates at their defaults.
pub(crate) const DEFAULTS: &str = "";

const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const ENDPOINTS_MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// A cluster with all three controllers of ours.
pub(crate) struct Fixture {
    pub(crate) world: World,
    pub(crate) endpoints: Api<Endpoints>,
    pub(crate) slices: Api<EndpointSlice>,
    manager: Option<Manager>,
    cluster: Cluster,
}

/// The published state of a Service: managers and addresses, in order of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) endpoints: Option<(String, Vec<String>)>,
    pub(crate) slices: Vec<(String, Vec<String>)>,
}

impl Seen {
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// The state of a Service with a selector and these pods, without delegation.
    pub(crate) fn ours(addresses: &[&str]) -> Self {
        Self::nothing().endpoints(ENDPOINTS, addresses).slice(SLICES, addresses)
    }

    pub(crate) fn endpoints(mut self, managed_by: &str, addresses: &[&str]) -> Self {
        self.endpoints = Some((managed_by.to_owned(), texts(addresses)));
        self
    }

    pub(crate) fn slice(mut self, managed_by: &str, addresses: &[&str]) -> Self {
        self.slices.push((managed_by.to_owned(), texts(addresses)));
        self.slices.sort();
        self
    }
}

fn texts(addresses: &[&str]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}

impl Fixture {
    /// Starts a new cluster, and our program with these feature gates.
    pub(crate) async fn start(gates: &str) -> Self {
        let cluster = Cluster::embedded().await;
        let client = cluster.client();
        let world = World::prepare(client.clone(), Controller::ALL).await;
        let endpoints = Api::namespaced(client.clone(), NAMESPACE);
        let slices = Api::namespaced(client, NAMESPACE);
        let mut fixture = Self { world, endpoints, slices, manager: None, cluster };
        fixture.switch(gates).await;
        fixture
    }

    /// Stops our program, starts it with other gates, and waits until it has synced everything.
    pub(crate) async fn switch(&mut self, gates: &str) {
        self.stop().await;
        let flags = vec![format!("--feature-gates={gates}")];
        let options = ManagerOptions { flags, ..ManagerOptions::of(Controller::ALL) };
        self.manager = Some(Manager::ours(&self.cluster, &options).await);
        self.settle().await;
    }

    /// Waits until our program has handled all changes, delayed syncs included, and all that it wrote for them is in the
    /// audit log.
    pub(crate) async fn settle(&self) {
        self.world.settle().await;
        self.rest().await;
    }

    async fn rest(&self) {
        let manager = self.manager.as_ref().expect("our program runs");
        workers_rest(Controller::ALL, manager.pages()).await;
    }

    /// Stops our program.
    pub(crate) async fn stop(&mut self) {
        if let Some(manager) = self.manager.take() {
            assert!(manager.stop().await.success());
        }
    }

    /// A mark in the audit log after all writes of our program that can be seen.
    pub(crate) async fn mark(&self) -> Mark {
        self.rest().await;
        self.cluster.audit().mark()
    }

    /// The writes of our program since `mark`, in the namespace of the tests.
    pub(crate) fn writes_since(&self, mark: Mark) -> Vec<String> {
        let mut writes = self.cluster.audit().writes_since(mark, User::EndpointControllers);
        writes.retain(|write| write.namespace == NAMESPACE);
        writes.iter().map(|write| format!("{} {} {}", write.verb, write.resource, write.name)).collect()
    }

    /// A Service that selects `app: NAME`, and one ready pod for each of these numbers.
    pub(crate) async fn service(&self, name: &str, label: Option<&str>, pods: &[u16]) {
        self.pods(name, pods).await;
        let spec = json!({"selector": {"app": name}, "ports": [{"name": "http", "port": 80}], "ipFamilies": ["IPv4"]});
        self.world.service(name, labels(label), spec).await;
    }

    /// A Service without a selector.
    pub(crate) async fn bare_service(&self, name: &str, label: Option<&str>) {
        let spec = json!({"ports": [{"name": "http", "port": 80}], "ipFamilies": ["IPv4"]});
        self.world.service(name, labels(label), spec).await;
    }

    /// A ready pod with this label for each of these numbers.
    pub(crate) async fn pods(&self, app: &str, numbers: &[u16]) {
        for number in numbers {
            let address = address(*number);
            self.world.pod(Pod::new(&format!("{app}-{number}"), app, *number).ips(&[&address])).await;
        }
    }

    /// Sets the label, or removes it.
    pub(crate) async fn label(&self, service: &str, value: Option<&str>) {
        self.world.change_service(service, json!({"metadata": {"labels": {LABEL: value}}})).await;
    }

    /// A slice of another controller, with one ready endpoint.
    pub(crate) async fn slice(&self, name: &str, service: &str, address: &str) {
        let slice = json!({
            "metadata": {"name": name, "labels": {SERVICE_NAME: service, MANAGED_BY: OTHER_CONTROLLER}},
            "addressType": "IPv4", "ports": [{"name": "http", "port": 80}],
            "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
        });
        let slice = serde_json::from_value(slice).unwrap();
        self.slices.create(&PostParams::default(), &slice).await.unwrap();
    }

    /// Endpoints of another controller, with or without a label for their manager. Replaces those of that name.
    pub(crate) async fn custom_endpoints(&self, name: &str, managed_by: Option<&str>, address: &str) {
        let labels = json!({ENDPOINTS_MANAGED_BY: managed_by});
        let subsets = json!([{"addresses": [{"ip": address}], "ports": [{"name": "http", "port": 80}]}]);
        let change = json!({"metadata": {"labels": labels}, "subsets": subsets});
        wait::until("writing Endpoints", LIMIT, || async {
            let mut new = change.clone();
            new["metadata"]["name"] = json!(name);
            if managed_by.is_none() {
                new["metadata"]["labels"] = Value::Null;
            }
            let new = serde_json::from_value(new).unwrap();
            match self.endpoints.create(&PostParams::default(), &new).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    let patch = Patch::Merge(&change);
                    self.endpoints.patch(name, &PatchParams::default(), &patch).await.map(drop)
                }
                result => result.map(drop),
            }
        })
        .await;
    }

    /// All slices of a Service, of any manager.
    pub(crate) async fn slices_of(&self, service: &str) -> Vec<EndpointSlice> {
        let query = ListParams::default().labels(&format!("{SERVICE_NAME}={service}"));
        self.slices.list(&query).await.unwrap().items
    }

    /// The current published state of a Service.
    pub(crate) async fn see(&self, service: &str) -> Seen {
        let endpoints = self.endpoints.get_opt(service).await.unwrap();
        let endpoints = endpoints.map(|endpoints| {
            let manager = endpoints.labels().get(ENDPOINTS_MANAGED_BY).cloned().unwrap_or_default();
            let subsets = endpoints.subsets.into_iter().flatten();
            let mut ips: Vec<String> =
                subsets.flat_map(|subset| subset.addresses.into_iter().flatten()).map(|it| it.ip).collect();
            ips.sort();
            (manager, ips)
        });
        let mut slices: Vec<_> = self.slices_of(service).await.into_iter().map(slice_seen).collect();
        slices.sort();
        Seen { endpoints, slices }
    }

    /// Waits until a Service has this published state.
    pub(crate) async fn expect(&self, service: &str, expected: &Seen) {
        wait::until(&format!("{service}: {expected:?}"), LIMIT, || async {
            let seen = self.see(service).await;
            if seen == *expected { Ok(()) } else { Err(format!("{seen:?}")) }
        })
        .await;
    }

    /// Waits until our program has handled all changes, and checks that the published state is then this.
    pub(crate) async fn remains(&self, service: &str, expected: &Seen) {
        self.settle().await;
        assert_eq!(self.see(service).await, *expected, "{service}");
    }
}

fn labels(label: Option<&str>) -> Value {
    label.map_or(Value::Null, |value| json!({LABEL: value}))
}

/// The address of the pod of this number.
fn address(number: u16) -> String {
    let [high, low] = number.to_be_bytes();
    format!("10.1.{high}.{low}")
}

/// The manager of a slice, and its ready addresses.
fn slice_seen(slice: EndpointSlice) -> (String, Vec<String>) {
    let manager = slice.labels().get(MANAGED_BY).cloned().unwrap_or_default();
    let ready = slice.endpoints.into_iter().flatten().filter(|endpoint| {
        endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
    });
    let mut addresses: Vec<String> = ready.flat_map(|endpoint| endpoint.addresses).collect();
    addresses.sort();
    (manager, addresses)
}
