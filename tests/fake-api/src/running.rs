//! A controller at work on the server.

use std::ops::Deref;
use std::sync::Arc;

use controller_kit::queue::QueueMetrics;
use controller_kit::recorder::EventWriter;
use endpoint_informers::cache::Cache;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_api::ApiClient;
use prometheus_client::registry::Registry;

use crate::{FakeApi, Served};

/// A controller that runs, with its metrics and the server that it works on.
pub struct Running<C, T = EndpointSlice> {
    controller: Arc<C>,
    registry: Registry,
    api: FakeApi<T>,
}

impl<C, T> Deref for Running<C, T> {
    type Target = FakeApi<T>;

    fn deref(&self) -> &FakeApi<T> {
        &self.api
    }
}

impl<T: Served> FakeApi<T> {
    /// Creates a controller on this server and runs it, with the task that writes its events, until the test ends.
    pub fn run<C, Work>(
        &self,
        new: impl FnOnce(Arc<Cache>, ApiClient, &QueueMetrics, &mut Registry) -> (Arc<C>, EventWriter),
        run: impl FnOnce(Arc<C>) -> Work,
    ) -> Running<C, T>
    where
        Work: Future<Output = ()> + Send + 'static,
    {
        let mut registry = Registry::default();
        let queues = QueueMetrics::register(&mut registry);
        let (controller, events) = new(Arc::clone(&self.cache), self.client(), &queues, &mut registry);
        tokio::spawn(events.run(std::future::pending()));
        tokio::spawn(run(Arc::clone(&controller)));
        Running { controller, registry, api: self.clone() }
    }
}

impl<C, T: Served> Running<C, T> {
    /// Ends the controller, and leaves the server, which shows what it did and forgets the writes so far.
    pub async fn stop(self, shut_down: impl FnOnce(&C)) -> FakeApi<T> {
        shut_down(&self.controller);
        self.settle().await;
        self.forget_requests();
        self.api
    }

    /// The value of a series, given by its name and labels as they are written; 0 if there is none.
    pub fn metric(&self, series: &str) -> u64 {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "figures of tests are small"
        )]
        value.map_or(0, |value| value.parse::<f64>().unwrap() as u64)
    }
}
