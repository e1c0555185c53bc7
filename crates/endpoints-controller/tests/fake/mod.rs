//! The controller on an API server in memory.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "shared by the tests beside it, which fail by panicking; objects are made to be given away"
)]

use std::ops::Deref;
use std::time::Duration;

use endpoints_controller::{Config, EndpointsController};
use fake_api::{FakeApi, Running};
use k8s_openapi::api::core::v1::Endpoints;

pub use fake_api::object as endpoints;

/// The controller, running.
pub struct Fake(Running<EndpointsController, Endpoints>);

impl Deref for Fake {
    type Target = Running<EndpointsController, Endpoints>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Fake {
    fn run(api: &FakeApi<Endpoints>, batch_period: Duration, services_may_be_delegated: bool) -> Self {
        let config = Config {
            workers: 5,
            batch_period,
            tolerate_unready_annotation: false,
            services_may_be_delegated,
        };
        Self(api.run(
            |cache, client, queues, _| EndpointsController::new(config, cache, client, queues),
            EndpointsController::run,
        ))
    }

    /// Starts on a server that `fill` has filled.
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

    /// Ends the controller and starts another, on the same cache and the same objects.
    pub async fn restart(self) -> Self {
        let api = self.0.stop(EndpointsController::shut_down).await;
        Self::run(&api, Duration::ZERO, false)
    }

    /// The ready addresses of an object, which must have one subset; none if there is no object.
    pub fn addresses(&self, name: &str) -> Vec<String> {
        let Some(endpoints) = self.stored(name) else { return Vec::new() };
        let subsets = endpoints.subsets.unwrap_or_default();
        assert!(subsets.len() <= 1);
        let addresses = subsets.into_iter().flat_map(|subset| subset.addresses.unwrap_or_default());
        addresses.map(|address| address.ip).collect()
    }

    pub fn edit(&self, name: &str, edit: impl FnOnce(&mut Endpoints)) {
        let mut endpoints = self.stored(name).unwrap();
        edit(&mut endpoints);
        self.put(endpoints);
    }
}
