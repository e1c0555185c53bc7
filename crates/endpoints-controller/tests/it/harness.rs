//! The controller on an in-memory API server.

use std::sync::Arc;
use std::time::Duration;

use controller_harness::{Running, TestApi};
use endpoint_informers::pending::WritePolicy;
use endpoints_controller::{Config, EndpointsController};
use k8s_openapi::api::core::v1::Endpoints;

pub(crate) use controller_harness::object as endpoints;

/// The controller at work, and the API server that it works on.
pub(crate) struct Harness {
    pub(crate) api: TestApi<Endpoints>,
    running: Running<Endpoints>,
}

impl Harness {
    fn run(api: &TestApi<Endpoints>, batch_period: Duration, services_may_be_delegated: bool) -> Self {
        Self::run_with_policy(api, batch_period, services_may_be_delegated, None)
    }

    fn run_with_policy(
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
            remembered_from: 1,
        };
        let running = api.run_with_policy(policy, |cache, client, queues, _| {
            EndpointsController::new(config, cache, client, queues)
        });
        Self { api: api.clone(), running }
    }

    /// Starts on a server that `fill` prepares.
    pub(crate) fn start(batch_period: Duration, fill: impl FnOnce(&TestApi<Endpoints>)) -> Self {
        let api = TestApi::default();
        fill(&api);
        Self::run(&api, batch_period, false)
    }

    /// The same, with a policy that decides about each sync.
    pub(crate) fn start_with_policy(
        policy: Arc<dyn WritePolicy>,
        fill: impl FnOnce(&TestApi<Endpoints>),
    ) -> Self {
        let api = TestApi::default();
        fill(&api);
        Self::run_with_policy(&api, Duration::ZERO, false, Some(policy))
    }

    /// The same, where Services may belong to other controllers.
    pub(crate) fn start_delegating(fill: impl FnOnce(&TestApi<Endpoints>)) -> Self {
        let api = TestApi::default();
        fill(&api);
        Self::run(&api, Duration::ZERO, true)
    }

    /// Replaces the controller by a new one, on the same cache and the same objects.
    pub(crate) async fn restart(self) -> Self {
        let api = self.running.stop().await;
        Self::run(&api, Duration::ZERO, false)
    }

    /// The tables in which the controller remembers something about this Service.
    pub(crate) fn remembers(&self, service: &str) -> Vec<&'static str> {
        self.running.remembers(service)
    }

    /// The number of foreign writes so far.
    pub(crate) fn foreign_writes(&self) -> u64 {
        self.running.foreign_writes()
    }

    /// The value of a series.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        self.running.metric(series)
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
