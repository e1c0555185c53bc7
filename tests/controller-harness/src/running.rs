//! A running controller on the in-memory API server.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{QueueMetrics, WorkQueue};
use controller_kit::recorder::EventWriter;
use endpoint_informers::cache::Cache;
use endpoint_informers::controller::{Controller, run};
use endpoint_informers::pending::WritePolicy;
use endpoint_informers::repairs::Repairs;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_api::ApiClient;
use kube_api::plain_counter::PlainCounter;
use kube_api::version_guard::VersionGuard;
use prometheus_client::registry::Registry;

use crate::predictions::Predicting;
use crate::{Served, TestApi};

/// A running controller with its metrics registry, and the API server that it works on.
pub struct Running<T = EndpointSlice> {
    queue: WorkQueue<ObjectKey>,
    registry: Registry,
    foreign_writes: PlainCounter,
    versions: VersionGuard,
    remembered: Box<dyn Fn() -> Vec<(&'static str, ObjectKey)> + Send + Sync>,
    /// The API server.
    pub api: TestApi<T>,
}

impl<T: Served> TestApi<T> {
    /// Creates a controller on this server, and runs it and its event writer until the test ends.
    pub fn run<C: Controller>(
        &self,
        new: impl FnOnce(Arc<Cache>, ApiClient, &QueueMetrics, &mut Registry) -> (Arc<C>, EventWriter),
    ) -> Running<T> {
        self.run_with_policy(None, new)
    }

    /// The same, with a policy that decides about each sync.
    pub fn run_with_policy<C: Controller>(
        &self,
        policy: Option<Arc<dyn WritePolicy>>,
        new: impl FnOnce(Arc<Cache>, ApiClient, &QueueMetrics, &mut Registry) -> (Arc<C>, EventWriter),
    ) -> Running<T> {
        let mut registry = Registry::default();
        let queues = QueueMetrics::register(&mut registry);
        let client = self.client();
        let versions = client.version_guard().clone();
        let (controller, events) = new(Arc::clone(&self.cache), client, &queues, &mut registry);
        let queue = controller.parts().queue.clone();
        tokio::spawn(events.run(std::future::pending()));
        let remembering = Arc::clone(&controller);
        let policy = Arc::new(Predicting { server: Arc::clone(&self.server), policy });
        let foreign_writes = controller.parts().repairs.map(Repairs::foreign_writes).unwrap_or_default();
        tokio::spawn(run(controller, self.server.lock().in_flight, Some(policy)));
        let remembered = Box::new(move || remembering.remembered());
        Running { queue, registry, foreign_writes, versions, remembered, api: self.clone() }
    }
}

impl<T: Served> Running<T> {
    /// Shuts the controller down, and returns the server with an empty list of writes.
    pub async fn stop(self) -> TestApi<T> {
        self.queue.shut_down();
        self.api.settle().await;
        self.api.forget_requests();
        self.api
    }

    /// The number of foreign writes so far.
    pub fn foreign_writes(&self) -> u64 {
        self.foreign_writes.get()
    }

    /// The number of times that the controller took a write for evidence of a restored backup.
    pub fn restores(&self) -> u64 {
        *self.versions.restores().borrow()
    }

    /// The tables in which the controller remembers something about this Service.
    pub fn remembers(&self, service: &str) -> Vec<&'static str> {
        let mut remembered = (self.remembered)();
        remembered.retain(|(_, key)| &*key.name == service);
        remembered.into_iter().map(|(table, _)| table).collect()
    }

    /// The value of a series, named as in the text format with its labels; 0 if it does not exist.
    pub fn metric(&self, series: &str) -> u64 {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "figures of tests are small"
        )]
        self.sample(series).map_or(0, |value| value as u64)
    }

    /// True if a series exists, named in the same way.
    pub fn has_metric(&self, series: &str) -> bool {
        self.sample(series).is_some()
    }

    fn sample(&self, series: &str) -> Option<f64> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
        Some(value.parse().unwrap())
    }
}
