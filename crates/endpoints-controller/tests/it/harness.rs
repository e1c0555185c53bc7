//! The controller on an in-memory API server.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use controller_harness::{Running, TestApi};
use endpoint_informers::pending::WritePolicy;
use endpoints_controller::{Config, EndpointsController};
use k8s_openapi::api::core::v1::Endpoints;

pub(crate) use controller_harness::object as endpoints;

/// The controller at work, and the API server that it works on.
pub(crate) struct Harness(Running<Endpoints>);

impl Deref for Harness {
    type Target = Running<Endpoints>;

    fn deref(&self) -> &Running<Endpoints> {
        &self.0
    }
}

impl Harness {
    fn run(
        api: &TestApi<Endpoints>,
        batch_period: Duration,
        services_may_be_delegated: bool,
        policy: Option<Arc<dyn WritePolicy>>,
    ) -> Self {
        let config = Config {
            workers: 5,
            batch_period,
            tolerate_unready_annotation: false,
            services_may_be_delegated,
            sync_cache_min_pods: 1,
        };
        Self(api.run_with_policy(policy, |cache, client, queues, _| {
            EndpointsController::new(config, cache, client, queues)
        }))
    }

    /// Starts on a server that `fill` prepares.
    pub(crate) fn start(batch_period: Duration, fill: impl FnOnce(&TestApi<Endpoints>)) -> Self {
        Self::run(&TestApi::filled(fill), batch_period, false, None)
    }

    /// The same, with a policy that decides about each sync.
    pub(crate) fn start_with_policy(
        policy: Arc<dyn WritePolicy>,
        fill: impl FnOnce(&TestApi<Endpoints>),
    ) -> Self {
        Self::run(&TestApi::filled(fill), Duration::ZERO, false, Some(policy))
    }

    /// The same, where Services may belong to other controllers.
    pub(crate) fn start_delegating(fill: impl FnOnce(&TestApi<Endpoints>)) -> Self {
        Self::run(&TestApi::filled(fill), Duration::ZERO, true, None)
    }

    /// Replaces the controller by a new one, on the same cache and the same objects.
    pub(crate) async fn restart(self) -> Self {
        Self::run(&self.0.stop().await, Duration::ZERO, false, None)
    }

    /// The ready addresses of an object, which must have one subset; none if there is no object.
    pub(crate) fn addresses(&self, name: &str) -> Vec<String> {
        let Some(endpoints) = self.api.stored(name) else { return Vec::new() };
        let subsets = endpoints.subsets.unwrap_or_default();
        assert!(subsets.len() <= 1);
        let addresses = subsets.into_iter().flat_map(|subset| subset.addresses.unwrap_or_default());
        addresses.map(|address| address.ip).collect()
    }

    /// Edits an object as another client.
    pub(crate) fn edit(&self, name: &str, edit: impl FnOnce(&mut Endpoints)) {
        let mut endpoints = self.api.stored(name).unwrap();
        edit(&mut endpoints);
        self.api.put(endpoints);
    }
}
