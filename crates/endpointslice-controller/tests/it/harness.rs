//! The controller on an in-memory API server.

use std::ops::Deref;
use std::time::Duration;

use controller_harness::{Running, TestApi};
use endpoint_controllers_common::MIN_PODS;
use endpointslice::Service;
use endpointslice::desired::Conditions;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, MANAGED_BY};
use endpointslice_controller::{Config, EndpointSliceController};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

pub(crate) use controller_harness::{object as slice, service, set_label};

/// A pod of the Service that its name begins with, on `node-1`.
pub(crate) fn pod(name: &str, address: &str, ready: bool) -> Value {
    controller_harness::pod(name, &[address], ready)
}

/// Puts the Service `web` and its first pods, which are ready, on a server.
pub(crate) fn web(pods: usize) -> impl FnOnce(&TestApi) {
    move |api: &TestApi| {
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        (1..=pods).for_each(|n| api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true)));
    }
}

/// The defaults, but that each sync remembers what it has seen.
const CONFIG: Config = Config {
    workers: 5,
    max_endpoints_per_slice: 100,
    batch_period: Duration::ZERO,
    conditions: Conditions::All,
    sync_cache_min_pods: 1,
    coalescing: false,
};

/// The controller at work, and the API server that it works on.
pub(crate) struct Harness(Running);

impl Deref for Harness {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.0
    }
}

impl Harness {
    fn run(api: &TestApi, batch_period: Duration, conditions: Conditions) -> Self {
        Self::run_with(api, Config { batch_period, conditions, ..CONFIG })
    }

    /// Starts with slices of `max` endpoints on a server that `fill` prepares, with the feature gate
    /// `EndpointSliceCoalescing` on or off.
    pub(crate) fn start_coalescing(coalescing: bool, max: usize, fill: impl FnOnce(&TestApi)) -> Self {
        Self::run_coalescing(&TestApi::filled(fill), coalescing, max)
    }

    /// Starts in the same way on a server that has run before.
    pub(crate) fn run_coalescing(api: &TestApi, coalescing: bool, max: usize) -> Self {
        Self::run_with(api, Config { max_endpoints_per_slice: max, coalescing, ..CONFIG })
    }

    /// Starts with one worker and slices of one endpoint: a few pods make many writes in a fixed order.
    pub(crate) fn start_small(api: &TestApi) -> Self {
        let (workers, max_endpoints_per_slice, sync_cache_min_pods) = (1, 1, MIN_PODS);
        Self::run_with(api, Config { workers, max_endpoints_per_slice, sync_cache_min_pods, ..CONFIG })
    }

    fn run_with(api: &TestApi, config: Config) -> Self {
        Self(api.run(|cache, client, queues, registry| {
            EndpointSliceController::new(config, cache, client, queues, registry)
        }))
    }

    /// Starts on a server that `fill` prepares.
    pub(crate) fn start(batch_period: Duration, fill: impl FnOnce(&TestApi)) -> Self {
        Self::run(&TestApi::filled(fill), batch_period, Conditions::All)
    }

    /// Starts with [`web`] in sync, and an empty list of writes.
    pub(crate) async fn with_web(pods: usize) -> Self {
        let harness = Self::start(Duration::ZERO, web(pods));
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web-"]);
        harness.api.forget_requests();
        harness
    }

    /// Shuts the controller down, and returns the server.
    pub(crate) async fn end(self) -> TestApi {
        self.0.stop().await
    }

    /// Replaces the controller by a new one, on the same cache and the same slices.
    pub(crate) async fn restart(self) -> Self {
        self.restart_with(Conditions::All).await
    }

    /// The same, where the new one publishes these conditions.
    pub(crate) async fn restart_with(self, conditions: Conditions) -> Self {
        Self::run(&self.0.stop().await, Duration::ZERO, conditions)
    }

    /// Replaces a Service by one of the same name and another uid, before the controller runs again.
    pub(crate) fn recreate_service(&self, name: &str, uid: &str) {
        self.api.remove::<Service>(name);
        self.api.service(service(name, json!({"metadata": {"uid": uid}})));
    }

    /// The zone of each endpoint of a Service.
    pub(crate) fn zones(&self, service: &str) -> Vec<Option<String>> {
        self.api.endpoints(service).into_iter().map(|endpoint| endpoint.zone).collect()
    }

    /// The slices of `web` that this controller manages.
    pub(crate) fn ours(&self) -> Vec<EndpointSlice> {
        let managed = |slice: &EndpointSlice| {
            let manager = slice.metadata.labels.as_ref()?.get(MANAGED_BY)?;
            Some(manager == ENDPOINTSLICE_CONTROLLER)
        };
        self.api.slices("web").into_iter().filter(|slice| managed(slice) == Some(true)).collect()
    }

    pub(crate) fn slice_count(&self, service: &str) -> usize {
        self.api.slices(service).len()
    }

    /// The metric of addresses that were left out of slices, summed.
    pub(crate) fn addresses_skipped(&self) -> u64 {
        self.metric("endpoint_slice_controller_addresses_skipped_per_sync_sum")
    }

    /// The metric of changed slices: the count of address types with successful writes, and the sum of these writes.
    pub(crate) fn changed_per_sync(&self) -> [u64; 2] {
        ["count", "sum"].map(|which| {
            let labels = "{topology=\"Disabled\",traffic_distribution=\"\"}";
            let metric = "endpoint_slice_controller_endpointslices_changed_per_sync";
            self.metric(&format!("{metric}_{which}{labels}"))
        })
    }

    /// The metric of successful syncs.
    pub(crate) fn syncs(&self) -> u64 {
        self.metric("endpoint_slice_controller_syncs{result=\"success\"}")
    }
}
