//! The controller on an in-memory API server.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "shared by the tests beside it, which fail by panicking; objects are passed by value for shorter calls"
)]

use std::time::Duration;

use endpoint_informers::controller::{self, Controller as _};
use endpoints_controller::{Config, EndpointsController};
use fake_api::{FakeApi, Running};
use k8s_openapi::api::core::v1::Endpoints;

pub use fake_api::object as endpoints;

/// The controller at work, and the API server that it works on.
pub struct Harness {
    pub api: FakeApi<Endpoints>,
    running: Running<EndpointsController, Endpoints>,
}

impl Harness {
    fn run(api: &FakeApi<Endpoints>, batch_period: Duration, services_may_be_delegated: bool) -> Self {
        let config = Config {
            workers: 5,
            batch_period,
            tolerate_unready_annotation: false,
            services_may_be_delegated,
        };
        let running = api.run(
            |cache, client, queues, _| EndpointsController::new(config, cache, client, queues),
            controller::run,
        );
        Self { api: api.clone(), running }
    }

    /// Starts on a server that `fill` prepares.
    pub fn start(batch_period: Duration, fill: impl FnOnce(&FakeApi<Endpoints>)) -> Self {
        let api = FakeApi::default();
        fill(&api);
        Self::run(&api, batch_period, false)
    }

    /// The same, where Services may belong to other controllers.
    pub fn start_delegating(fill: impl FnOnce(&FakeApi<Endpoints>)) -> Self {
        let api = FakeApi::default();
        fill(&api);
        Self::run(&api, Duration::ZERO, true)
    }

    /// Replaces the controller by a new one, on the same cache and the same objects.
    pub async fn restart(self) -> Self {
        let api = self.running.stop(|controller| controller.queue().shut_down()).await;
        Self::run(&api, Duration::ZERO, false)
    }

    /// The value of a series.
    pub fn metric(&self, series: &str) -> u64 {
        self.running.metric(series)
    }

    /// The ready addresses of an object, which must have one subset; none if there is no object.
    pub fn addresses(&self, name: &str) -> Vec<String> {
        let Some(endpoints) = self.api.stored(name) else { return Vec::new() };
        let subsets = endpoints.subsets.unwrap_or_default();
        assert!(subsets.len() <= 1);
        let addresses = subsets.into_iter().flat_map(|subset| subset.addresses.unwrap_or_default());
        addresses.map(|address| address.ip).collect()
    }

    /// Edits an object as another client.
    pub fn edit(&self, name: &str, edit: impl FnOnce(&mut Endpoints)) {
        let mut endpoints = self.api.stored(name).unwrap();
        edit(&mut endpoints);
        self.api.put(endpoints);
    }
}
