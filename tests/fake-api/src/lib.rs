//! An API server of EndpointSlices, in memory, for tests of controllers: it answers writes of slices, notes events, and
//! puts what changes into the controller's cache, as a watch would. Everything else a test puts there by itself.
//!
//! It is quick and can misbehave on demand. What only a real API server can show is tested on one (`tests`).

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking; objects are made to be given away"
)]

mod server;

use std::sync::Arc;
use std::time::Duration;

use controller_runtime::api::{ApiClient, Encoding};
use controller_runtime::cache::{Cache, CachedSlice};
use controller_runtime::kinds::Kind;
use controller_runtime::queue::{Lane, QueueMetrics};
use controller_runtime::recorder::EventWriter;
use endpointslice::Interner;
use endpointslice::well_known::SERVICE_NAME;
use http::Request;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::client::Body;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use serde_json::Value;

use crate::server::{Server, answer, emit};

/// The namespace of all objects.
pub const NAMESPACE: &str = "default";

const LIVE: Lane = Lane::Live;

/// The API server, and the cache that shows its objects. Clones are the same server.
#[derive(Clone, Default)]
pub struct FakeApi {
    cache: Arc<Cache>,
    server: Arc<Mutex<Server>>,
}

/// A controller that runs, with its metrics.
pub struct Running<C> {
    /// The controller.
    pub controller: Arc<C>,
    registry: Registry,
}

/// Merges `changes` into an object; a null stays, as an absent field.
#[must_use]
pub fn merged(mut object: Value, changes: Value) -> Value {
    merge(&mut object, changes);
    object
}

fn merge(into: &mut Value, changes: Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, change) in changes {
                merge(into.entry(key).or_insert(Value::Null), change);
            }
        }
        (into, changes) => *into = changes,
    }
}

fn read<K: Kind>(object: &Value) -> K {
    K::from_json(&object.to_string(), &mut Interner::default()).unwrap()
}

impl FakeApi {
    /// Creates a controller on this server and runs it, with the task that writes its events, until the test ends.
    pub fn run<C, Work>(
        &self,
        new: impl FnOnce(Arc<Cache>, ApiClient, &QueueMetrics, &mut Registry) -> (Arc<C>, EventWriter),
        run: impl FnOnce(Arc<C>) -> Work,
    ) -> Running<C>
    where
        Work: Future<Output = ()> + Send + 'static,
    {
        let mut registry = Registry::default();
        let queues = QueueMetrics::register(&mut registry);
        let (controller, events) = new(Arc::clone(&self.cache), self.client(), &queues, &mut registry);
        tokio::spawn(events.run(std::future::pending()));
        tokio::spawn(run(Arc::clone(&controller)));
        Running { controller, registry }
    }

    fn client(&self) -> ApiClient {
        let fake = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let fake = fake.clone();
            async move { Ok::<_, std::convert::Infallible>(answer(&fake.server, &fake.cache, request).await) }
        });
        ApiClient::new(kube::Client::new(service, NAMESPACE), Encoding::Json, "test")
    }

    /// Lets the paused clock run until delayed syncs (a second, or the first retries) are over.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }

    /// Lets the paused clock run.
    pub async fn advance(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Puts an object that is not a slice into the cache.
    pub fn show<K: Kind>(&self, object: Value) {
        self.cache.upsert(read::<K>(&object), LIVE);
    }

    /// Takes an object that is not a slice out of the cache.
    pub fn hide<K: Kind>(&self, name: &str) {
        self.cache.remove::<K>(NAMESPACE, name, LIVE);
    }

    /// The writes so far, as method and name.
    pub fn requests(&self) -> Vec<String> {
        self.server.lock().requests.clone()
    }

    /// Starts over with an empty list of writes.
    pub fn forget_requests(&self) {
        self.server.lock().requests.clear();
    }

    /// The events posted so far, as reason and message.
    pub fn told(&self) -> Vec<(String, String)> {
        self.server.lock().events.clone()
    }

    /// Answers so many writes with a failure.
    pub fn refuse(&self, count: usize) {
        self.server.lock().refuse = count;
    }

    /// Answers so many writes with a conflict.
    pub fn conflict(&self, count: usize) {
        self.server.lock().conflicts = count;
    }

    /// Keeps watch events of creates and updates back.
    pub fn hold_events(&self) {
        self.server.lock().held = Some(Vec::new());
    }

    /// Lets all watch events through that were kept back.
    pub fn release_events(&self) {
        let held = self.server.lock().held.take();
        held.into_iter().flatten().for_each(|slice| emit(&self.cache, &slice));
    }

    /// The slices of a Service, by name.
    pub fn slices(&self, service: &str) -> Vec<EndpointSlice> {
        let label = |slice: &EndpointSlice| slice.metadata.labels.as_ref()?.get(SERVICE_NAME).cloned();
        let named = |slice: &&EndpointSlice| label(slice).as_deref() == Some(service);
        self.server.lock().slices.values().filter(named).cloned().collect()
    }

    /// The endpoints in the slices of a Service.
    pub fn endpoints(&self, service: &str) -> Vec<Endpoint> {
        self.slices(service).into_iter().flat_map(|slice| slice.endpoints.into_iter().flatten()).collect()
    }

    /// The addresses in the slices of a Service, sorted.
    pub fn addresses(&self, service: &str) -> Vec<String> {
        let endpoints = self.endpoints(service).into_iter();
        let mut addresses: Vec<String> = endpoints.flat_map(|endpoint| endpoint.addresses).collect();
        addresses.sort();
        addresses
    }

    /// Somebody else creates a slice.
    pub fn add_slice(&self, slice: EndpointSlice) {
        let stored = self.server.lock().store(slice);
        emit(&self.cache, &stored);
    }

    /// Somebody else changes the first slice of a Service.
    pub fn edit_slice(&self, service: &str, edit: impl FnOnce(&mut EndpointSlice)) {
        let mut slice = self.slices(service).remove(0);
        edit(&mut slice);
        self.add_slice(slice);
    }

    /// Somebody else deletes the first slice of a Service, and no watch event tells of it. Returns its name.
    pub fn lose_slice(&self, service: &str) -> String {
        let name = self.slices(service).remove(0).metadata.name.unwrap();
        self.server.lock().slices.remove(&name);
        name
    }

    /// Somebody else deletes the first slice of a Service.
    pub fn delete_slice(&self, service: &str) {
        let name = self.lose_slice(service);
        self.cache.remove::<CachedSlice>(NAMESPACE, &name, LIVE);
    }
}

impl<C> Running<C> {
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
