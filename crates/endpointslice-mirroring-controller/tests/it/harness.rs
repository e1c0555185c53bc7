//! The controller on an in-memory API server.

use std::ops::Deref;
use std::time::Duration;

use controller_harness::{NAMESPACE, Running, TestApi, merged, object};
use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::well_known::{ENDPOINTSLICE_MIRRORING_CONTROLLER, MANAGED_BY, SERVICE_NAME};
use endpointslice_mirroring_controller::{Config, EndpointSliceMirroringController};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

pub(crate) const MAX: usize = 1000;

/// A Service without a selector, with `changes` merged in.
pub(crate) fn service(name: &str, changes: Value) -> Value {
    let object = json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}")},
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "ports": [{"name": "http", "port": 80}]},
    });
    merged(object, changes)
}

/// Endpoints with one port and these addresses, with `changes` merged in.
pub(crate) fn endpoints(name: &str, addresses: &[&str], changes: Value) -> Value {
    let addresses: Vec<Value> = addresses.iter().map(|address| json!({"ip": address})).collect();
    let object = json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-of-endpoints-{name}")},
        "subsets": [{"addresses": addresses, "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}],
    });
    merged(object, changes)
}

/// A slice as this controller makes it for [`endpoints`], with `changes` merged in.
pub(crate) fn slice(name: &str, service: &str, address: &str, changes: Value) -> EndpointSlice {
    let labels = json!({SERVICE_NAME: service, MANAGED_BY: ENDPOINTSLICE_MIRRORING_CONTROLLER});
    let slice = json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
    });
    object(merged(slice, changes))
}

/// The controller at work, and the API server that it works on.
pub(crate) struct Harness(Running);

impl Deref for Harness {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.0
    }
}

impl Harness {
    async fn run(api: &TestApi, batch_period: Duration, services_may_be_delegated: bool) -> Self {
        let config =
            Config { workers: 5, max_endpoints_per_subset: MAX, batch_period, services_may_be_delegated };
        let running = api.run(|cache, client, queues, registry| {
            EndpointSliceMirroringController::new(config, cache, client, queues, registry)
        });
        api.settle().await;
        Self(running)
    }

    pub(crate) async fn start(fill: impl FnOnce(&TestApi)) -> Self {
        Self::start_with_batch_period(Duration::ZERO, fill).await
    }

    pub(crate) async fn start_with_batch_period(batch_period: Duration, fill: impl FnOnce(&TestApi)) -> Self {
        Self::run(&TestApi::filled(fill), batch_period, false).await
    }

    /// Starts where Services may belong to other controllers.
    pub(crate) async fn start_delegating(fill: impl FnOnce(&TestApi)) -> Self {
        Self::run(&TestApi::filled(fill), Duration::ZERO, true).await
    }

    /// Starts with `web` mirrored to one slice, and an empty list of writes.
    pub(crate) async fn mirroring(addresses: &[&str]) -> Self {
        let harness = Self::start(|api| {
            api.service(service("web", json!({})));
            api.upsert::<CachedEndpoints>(endpoints("web", addresses, json!({})));
        })
        .await;
        assert_eq!(harness.api.requests(), ["POST web-"]);
        harness.api.forget_requests();
        harness
    }

    /// Replaces the controller by a new one, on the same cache and the same slices.
    pub(crate) async fn restart(self) -> Self {
        Self::run(&self.0.stop().await, Duration::ZERO, false).await
    }

    /// The writes since the last call, after delayed syncs.
    pub(crate) async fn writes(&self) -> Vec<String> {
        self.api.settle().await;
        let requests = self.api.requests();
        self.api.forget_requests();
        requests
    }

    /// Runs the syncs that are due now.
    pub(crate) async fn now(&self) {
        self.api.advance(Duration::from_millis(1)).await;
    }

    /// The metric of syncs.
    pub(crate) fn syncs(&self) -> u64 {
        self.metric("endpoints_sync_duration_count")
    }

    /// A metric of the controller.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        self.0.metric(&format!("endpoint_slice_mirroring_controller_{series}"))
    }
}
