//! The controller on an API server in memory.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "shared by the tests beside it, which fail by panicking; objects are made to be given away"
)]

use std::ops::Deref;
use std::time::Duration;

use controller_runtime::cache::DelegatedService;
use endpointslice::{Conditions, Node, Pod, Service};
use endpointslice_controller::{Config, EndpointSliceController};
use fake_api::{FakeApi, NAMESPACE, Running, merged};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

/// A Service that selects `app: NAME`, with `changes` merged in.
pub fn service(name: &str, changes: Value) -> Value {
    let object = json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"), "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"],
            "selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
    });
    merged(object, changes)
}

/// A pod of the Service that its name begins with, on `node-1`.
pub fn pod(name: &str, address: &str, ready: bool) -> Value {
    let app = name.rsplit_once('-').map_or(name, |(app, _)| app);
    json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"), "resourceVersion": "1",
            "labels": {"app": app}},
        "spec": {"nodeName": "node-1", "containers": []},
        "status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
    })
}

/// A slice of somebody else, as the API would take it.
pub fn slice(value: Value) -> EndpointSlice {
    serde_json::from_value(value).unwrap()
}

/// The controller, running.
pub struct Fake {
    api: FakeApi,
    running: Running<EndpointSliceController>,
}

impl Deref for Fake {
    type Target = FakeApi;

    fn deref(&self) -> &FakeApi {
        &self.api
    }
}

/// The cache before the controller starts, as a test fills it.
pub struct Filler<'a>(&'a FakeApi);

impl Filler<'_> {
    pub fn node(&self, name: &str, zone: &str) {
        let labels = json!({endpointslice::well_known::TOPOLOGY_ZONE: zone});
        self.0.show::<Node>(json!({"metadata": {"name": name, "labels": labels}}));
    }

    pub fn service(&self, object: Value) {
        self.0.show::<Service>(object);
    }

    pub fn pod(&self, object: Value) {
        self.0.show::<Pod>(object);
    }

    pub fn delegated(&self, name: &str) {
        self.0.show::<DelegatedService>(json!({"metadata": {"name": name, "namespace": NAMESPACE}}));
    }

    pub fn slice(&self, slice: EndpointSlice) {
        self.0.add_slice(slice);
    }

    pub fn remove_service(&self, name: &str) {
        self.0.hide::<Service>(name);
    }
}

fn run(api: &FakeApi, batch_period: Duration, conditions: Conditions) -> Running<EndpointSliceController> {
    let config = Config { workers: 5, max_endpoints_per_slice: 100, batch_period, conditions };
    api.run(
        |cache, client, queues, registry| {
            EndpointSliceController::new(config, cache, client, queues, registry)
        },
        EndpointSliceController::run,
    )
}

impl Fake {
    pub fn start(batch_period: Duration, fill: impl FnOnce(Filler<'_>)) -> Self {
        let api = FakeApi::default();
        fill(Filler(&api));
        let running = run(&api, batch_period, Conditions::All);
        Self { api, running }
    }

    /// Ends the controller and starts another, on the same cache and the same slices.
    pub async fn restart(self) -> Self {
        self.restart_with(Conditions::All).await
    }

    /// The same; the new one publishes these conditions.
    pub async fn restart_with(self, conditions: Conditions) -> Self {
        let Self { api, running } = self;
        running.controller.shut_down();
        api.settle().await;
        api.forget_requests();
        let running = run(&api, Duration::ZERO, conditions);
        Self { api, running }
    }

    pub fn pod(&self, object: Value) {
        Filler(&self.api).pod(object);
    }

    pub fn node(&self, name: &str, zone: &str) {
        Filler(&self.api).node(name, zone);
    }

    pub fn service(&self, object: Value) {
        Filler(&self.api).service(object);
    }

    pub fn remove_service(&self, name: &str) {
        Filler(&self.api).remove_service(name);
    }

    /// The Service is seen in the hands of another controller.
    pub fn delegate(&self, name: &str) {
        Filler(&self.api).delegated(name);
    }

    /// The Service is no longer seen in the hands of another controller.
    pub fn undelegate(&self, name: &str) {
        self.hide::<DelegatedService>(name);
    }

    pub fn remove_pod(&self, name: &str) {
        self.hide::<Pod>(name);
    }

    /// Deletes a Service and creates it again under another uid, in one moment.
    pub fn recreate_service(&self, name: &str, uid: &str) {
        Filler(&self.api).remove_service(name);
        let metadata = json!({"metadata": {"uid": uid, "resourceVersion": "2"}});
        Filler(&self.api).service(service(name, metadata));
    }

    /// The zone of each endpoint of a Service.
    pub fn zones(&self, service: &str) -> Vec<Option<String>> {
        self.endpoints(service).into_iter().map(|endpoint| endpoint.zone).collect()
    }

    pub fn slice_count(&self, service: &str) -> usize {
        self.slices(service).len()
    }

    /// The sum of addresses left out of slices, from the metrics.
    pub fn addresses_skipped(&self) -> u64 {
        self.running.metric("endpoint_slice_controller_addresses_skipped_per_sync_sum")
    }

    /// The address types whose writes succeeded in some sync, and how many writes these were, from the metrics.
    pub fn changed_per_sync(&self) -> [u64; 2] {
        ["count", "sum"].map(|which| {
            let labels = "{topology=\"Disabled\",traffic_distribution=\"\"}";
            let metric = "endpoint_slice_controller_endpointslices_changed_per_sync";
            self.running.metric(&format!("{metric}_{which}{labels}"))
        })
    }

    /// How many syncs succeeded, from the metrics.
    pub fn syncs(&self) -> u64 {
        self.running.metric("endpoint_slice_controller_syncs{result=\"success\"}")
    }
}
