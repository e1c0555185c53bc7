//! A Service without its former selector, whose Endpoints were edited by hand, gets the label of another controller:
//! the Endpoints are the user's, although they still have the label `endpoints.kubernetes.io/managed-by`.

use k8s_openapi::api::core::v1::Endpoints;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tests::cluster::Cluster;
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::scenario::{NAMESPACE, World};
use tests::wait::{self, LIMIT};

use super::fixture::serve;

const LABEL: &str = "service.kubernetes.io/endpoint-controller-name";

struct Delegation {
    cluster: Cluster,
    world: World,
    endpoints: Api<Endpoints>,
    manager: Option<Manager>,
}

impl Delegation {
    async fn start() -> Self {
        let cluster = Cluster::embedded().await;
        let world = World::prepare(cluster.client(), Controller::ALL).await;
        let endpoints = Api::namespaced(cluster.client(), NAMESPACE);
        let mut delegation = Self { cluster, world, endpoints, manager: None };
        delegation.start_manager().await;
        delegation
    }

    async fn start_manager(&mut self) {
        let flags = vec!["--feature-gates=EndpointControllerNameWellKnownLabel=true".to_owned()];
        let options = ManagerOptions { flags, ..ManagerOptions::of(Controller::ALL) };
        self.manager = Some(Manager::ours(&self.cluster, &options).await);
        self.world.settle().await;
    }

    async fn stop_manager(&mut self) {
        assert!(self.manager.take().unwrap().stop().await.success());
    }

    /// Creates a Service that then loses its selector.
    async fn orphan(&self, name: &str, number: u16) {
        serve(&self.world, name, number).await;
        wait::until("Endpoints of ours", LIMIT, async || {
            let found = self.endpoints.get(name).await.map_err(|error| error.to_string())?;
            if found.subsets.is_some() { Ok(()) } else { Err("empty".to_owned()) }
        })
        .await;
        self.world.change_service(name, json!({"spec": {"selector": null}})).await;
        self.world.settle().await;
    }

    /// Edits Endpoints by hand, as with `kubectl edit`: labels stay as they are.
    async fn edit(&self, name: &str) {
        let subsets = json!({"subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]});
        self.endpoints.patch(name, &PatchParams::default(), &Patch::Merge(subsets)).await.unwrap();
    }

    async fn label(&self, name: &str) {
        self.world.change_service(name, json!({"metadata": {"labels": {LABEL: "external"}}})).await;
    }

    async fn stored(&self, name: &str) -> (String, String) {
        let endpoints = self.endpoints.get(name).await;
        let endpoints = endpoints.unwrap_or_else(|error| panic!("Endpoints {name}: {error}"));
        (endpoints.uid().unwrap(), endpoints.resource_version().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_of_a_service_that_lost_its_selector_survive_the_label() {
    let mut delegation = Delegation::start().await;
    let mut stored = Vec::new();
    for (number, name) in (0..).zip(["running", "label-while-away", "all-while-away"]) {
        delegation.orphan(name, number).await;
    }
    for name in ["running", "label-while-away"] {
        delegation.edit(name).await;
        delegation.world.settle().await;
    }
    stored.push(("running", delegation.stored("running").await));
    delegation.label("running").await;
    delegation.world.settle().await;
    assert_eq!(delegation.stored("running").await, stored[0].1, "right after the label");

    delegation.stop_manager().await;
    delegation.edit("all-while-away").await;
    for name in ["label-while-away", "all-while-away"] {
        stored.push((name, delegation.stored(name).await));
        delegation.label(name).await;
    }
    delegation.start_manager().await;
    for (name, before) in &stored {
        assert_eq!(delegation.stored(name).await, *before, "{name} after a restart");
    }
}
