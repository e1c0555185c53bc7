//! A cluster in memory in which an example runs: an API server, and time that passes only when there is nothing to do.

#![allow(dead_code, reason = "each example uses some of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::time::Duration;

use embedded_apiserver::ApiServer;
use endpoint_informers::manager::Manager;
use endpoint_informers::reconciler::SliceReconciler;
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Event, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use kube_api::{ApiClient, Encoding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

/// The time, on the paused clock, after which a change counts as unnoticed.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Cluster {
    client: Client,
    managed_by: &'static str,
}

impl Cluster {
    /// A cluster with the node `node-1` in zone `a`, in which a controller runs.
    pub(crate) async fn with<R: SliceReconciler>(rules: R) -> Self {
        let client = Client::new(ApiServer::new(), "default");
        let node = json!({"metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "a"}}});
        let nodes: Api<Node> = Api::all(client.clone());
        nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
        let api_client = ApiClient::new(client.clone(), Encoding::Protobuf, R::NAME);
        tokio::spawn(async move {
            Manager::new(api_client).run(rules, pending()).await.unwrap();
        });
        Self { client, managed_by: R::NAME }
    }

    fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn create<K>(&self, object: Value)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + Serialize + DeserializeOwned,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap();
    }

    /// Creates a Service without a selector, whose port 80 leads to port 8080.
    pub(crate) async fn service(&self, name: &str, annotations: Value) {
        let ports = json!([{"port": 80, "targetPort": 8080}]);
        self.create::<Service>(
            json!({"metadata": {"name": name, "annotations": annotations}, "spec": {"ports": ports}}),
        )
        .await;
    }

    /// Changes annotations of a Service.
    pub(crate) async fn annotate(&self, name: &str, annotations: Value) {
        let change = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        self.api::<Service>().patch(name, &PatchParams::default(), &change).await.unwrap();
    }

    /// Creates a pod on `node-1`.
    pub(crate) async fn pod(&self, name: &str, labels: Value, address: &str) {
        self.create::<Pod>(json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "main"}]},
        }))
        .await;
        let status = json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]});
        let change = Patch::Merge(json!({"status": status}));
        self.api::<Pod>().patch_status(name, &PatchParams::default(), &change).await.unwrap();
        self.ready(name, true).await;
    }

    /// Sets the condition Ready of a pod.
    pub(crate) async fn ready(&self, pod: &str, ready: bool) {
        let status = if ready { "True" } else { "False" };
        let change = Patch::Merge(json!({"status": {"conditions": [{"type": "Ready", "status": status}]}}));
        self.api::<Pod>().patch_status(pod, &PatchParams::default(), &change).await.unwrap();
    }

    /// Moves `node-1` to another zone, and waits until all endpoints of a Service are there.
    pub(crate) async fn move_node(&self, service: &str, zone: &str) {
        let change = Patch::Merge(json!({"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}}));
        let nodes: Api<Node> = Api::all(self.client.clone());
        nodes.patch("node-1", &PatchParams::default(), &change).await.unwrap();
        let is_there = |endpoint: &Endpoint| endpoint.zone.as_deref() == Some(zone);
        let moved = self.until_all(service, |found| !found.is_empty() && found.iter().all(is_there));
        timeout(LIMIT, moved).await.expect("the zone is not followed");
    }

    /// Waits until the controller's slices of a Service have exactly these ready addresses, and returns their endpoints.
    pub(crate) async fn until(&self, service: &str, ready: &[&str]) -> Vec<Endpoint> {
        let wanted: BTreeSet<&str> = ready.iter().copied().collect();
        let is_ready =
            |endpoint: &&Endpoint| endpoint.conditions.as_ref().is_some_and(|it| it.ready == Some(true));
        let is_reached = |found: &[Endpoint]| {
            let published = found.iter().filter(is_ready).flat_map(|endpoint| &endpoint.addresses);
            published.map(String::as_str).collect::<BTreeSet<&str>>() == wanted
        };
        self.until_all(service, is_reached).await
    }

    /// Waits until the endpoints of the controller's slices of a Service are as they should be, and returns them.
    async fn until_all(&self, service: &str, is_reached: impl Fn(&[Endpoint]) -> bool) -> Vec<Endpoint> {
        let selector = format!("{SERVICE_NAME}={service},{MANAGED_BY}={}", self.managed_by);
        let slices: Api<EndpointSlice> = self.api();
        let list = slices.list(&ListParams::default().labels(&selector)).await.unwrap();
        let version = list.metadata.resource_version.unwrap();
        let mut found: BTreeMap<String, EndpointSlice> =
            list.items.into_iter().map(|slice| (slice.name_any(), slice)).collect();
        let mut events =
            slices.watch(&WatchParams::default().labels(&selector), &version).await.unwrap().boxed();
        loop {
            let endpoints: Vec<Endpoint> =
                found.values().flat_map(|slice| slice.endpoints.clone().unwrap_or_default()).collect();
            if is_reached(&endpoints) {
                return endpoints;
            }
            match events.next().await.unwrap_or_else(|| panic!("{service}: {found:?}")).unwrap() {
                WatchEvent::Added(slice) | WatchEvent::Modified(slice) => {
                    drop(found.insert(slice.name_any(), slice))
                }
                WatchEvent::Deleted(slice) => drop(found.remove(&slice.name_any())),
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
            }
        }
    }

    /// Waits until there is an Event with this reason, and returns its message.
    pub(crate) async fn event(&self, reason: &str) -> String {
        let params = WatchParams::default().fields(&format!("reason={reason}"));
        let mut events = self.api::<Event>().watch(&params, "0").await.unwrap().boxed();
        match events.next().await.unwrap().unwrap() {
            WatchEvent::Added(event) => event.message.unwrap(),
            other => panic!("{other:?}"),
        }
    }
}
