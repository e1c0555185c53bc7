//! A controller on an embedded API server, with faults on demand. Writes, Events and lookups of the controller go to the
//! server; each change is delivered to the controller's cache, as a watch would. Objects of other kinds are put into the
//! cache by the test.
//!
//! It is fast and fails on demand. Behaviour that only a real API server shows is tested on one (package `tests`).
//!
//! Every change comes with its watch event, unless the name of the method says `without_event`.
//!
//! Tests of plans need no server: [`random_service`] has what they change.

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::panic,
    reason = "tests fail by panicking; objects are passed by value for shorter calls"
)]

mod history;
mod objects;
mod predictions;
pub mod random_service;
mod running;
mod server;
mod watched;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use embedded_apiserver::LoadError;
use endpoint_informers::cache::{Cache, CachedResource, Delta};
use endpoint_informers::kinds::{CachedEndpoints, CachedSlice, DelegatedService};
use endpointslice::well_known::{SERVICE_NAME, TOPOLOGY_ZONE};
use endpointslice::{Interner, Node, Pod, Service};
use http::Request;
use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::client::Body;
use kube_api::{ApiClient, Encoding, RateLimiter};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use crate::objects::{merged, object, pod, service, set_label};
pub use crate::running::Running;
pub use crate::server::Backup;
use crate::server::{Server, answer, emit, emit_deletion};
pub use crate::watched::Watched;

/// The namespace of all objects.
pub const NAMESPACE: &str = "default";

/// The controller's own field manager.
const MANAGER: &str = "test";

/// The API server, and the cache of the controller. Clones share both.
pub struct TestApi<T = EndpointSlice> {
    cache: Arc<Cache>,
    server: Arc<Mutex<Server<T>>>,
}

/// A kind that the server can store.
pub trait Served:
    Metadata<Ty = ObjectMeta> + Clone + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Its form in the cache.
    type Cached: CachedResource;
    /// Its path up to the namespace.
    const NAMESPACES: &'static str;
}

impl Served for EndpointSlice {
    type Cached = CachedSlice;
    const NAMESPACES: &'static str = "/apis/discovery.k8s.io/v1/namespaces";
}

impl Served for Endpoints {
    type Cached = CachedEndpoints;
    const NAMESPACES: &'static str = "/api/v1/namespaces";
}

impl<T> Clone for TestApi<T> {
    fn clone(&self) -> Self {
        Self { cache: Arc::clone(&self.cache), server: Arc::clone(&self.server) }
    }
}

impl<T: Served> Default for TestApi<T> {
    fn default() -> Self {
        Self { cache: Arc::default(), server: Arc::default() }
    }
}

fn read<K: CachedResource>(object: &Value) -> K {
    K::from_json(&object.to_string(), &mut Interner::default()).unwrap()
}

impl<T: Served> TestApi<T> {
    /// A server that `fill` prepares.
    pub fn filled(fill: impl FnOnce(&Self)) -> Self {
        let api = Self::default();
        fill(&api);
        api
    }

    fn client(&self) -> ApiClient {
        let fake = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let fake = fake.clone();
            async move {
                let latency = fake.server.lock().latency;
                if !latency.is_zero() {
                    tokio::time::sleep(latency).await;
                }
                Ok::<_, std::convert::Infallible>(answer(&fake.server, &fake.cache, request).await)
            }
        });
        let client = ApiClient::new(kube::Client::new(service, NAMESPACE), Encoding::Json, MANAGER);
        match self.server.lock().limit {
            Some((qps, burst)) => client.with_limit(RateLimiter::new(qps, burst)),
            None => client,
        }
    }

    /// Advances the paused clock by 5 s: past the repair delay of a second and the first retries.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }

    /// Advances the paused clock, and lets every task run that becomes due.
    pub async fn advance(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Adds an object of another kind to the cache, or replaces it, with the next resourceVersion.
    pub fn upsert<K: CachedResource>(&self, mut object: Value) {
        let version = {
            let mut server = self.server.lock();
            server.cached_version += 1;
            server.cached_version.to_string()
        };
        object["metadata"]["resourceVersion"] = version.into();
        self.cache.upsert(read::<K>(&object));
    }

    /// The same, as part of a relist: the change is queued as background work.
    pub fn upsert_listed<K: CachedResource>(&self, mut object: Value) {
        object["metadata"]["resourceVersion"] = format!("listed-{}", self.requests().len()).into();
        self.cache.apply([Delta::Upsert(read::<K>(&object))], "", true);
    }

    /// Delivers a watch event whose object can't be decoded. With an empty `name`, even the name is unreadable.
    pub fn upsert_unreadable<K: CachedResource>(&self, name: &str) {
        let namespace = if K::NAMESPACED { NAMESPACE } else { "" };
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.cache.apply([Delta::<K>::Unreadable { namespace, name }], "", false);
    }

    /// Adds a Service to the cache, or replaces it.
    pub fn service(&self, object: Value) {
        self.upsert::<Service>(object);
    }

    /// Adds a Pod to the cache, or replaces it.
    pub fn pod(&self, object: Value) {
        self.upsert::<Pod>(object);
    }

    /// Adds a Node with nothing but a zone to the cache, or replaces it.
    pub fn node(&self, name: &str, zone: &str) {
        self.upsert::<Node>(json!({"metadata": {"name": name, "labels": {TOPOLOGY_ZONE: zone}}}));
    }

    /// Adds a Service with a selector to the watch of delegated Services: another controller owns its slices.
    pub fn delegate(&self, name: &str) {
        self.delegate_selecting(name, json!({"app": name}));
    }

    /// The same, with this selector.
    pub fn delegate_selecting(&self, name: &str, selector: Value) {
        let metadata = json!({"name": name, "namespace": NAMESPACE});
        self.upsert::<DelegatedService>(json!({"metadata": metadata, "spec": {"selector": selector}}));
    }

    /// Adds an object that the test decoded itself, for example with annotations kept.
    pub fn upsert_object<K: CachedResource>(&self, object: K) {
        self.cache.upsert(object);
    }

    /// Removes an object of another kind from the cache, as one that was deleted now.
    pub fn remove<K: CachedResource>(&self, name: &str) {
        self.remove_at::<K>(name, &self.version().to_string());
    }

    /// The same, as one that was deleted at this resourceVersion.
    pub fn remove_at<K: CachedResource>(&self, name: &str, version: &str) {
        emit_deletion::<K>(&self.cache, name, version);
    }

    /// The writes received so far, as `METHOD name`. Fails if the controller did not predict one.
    pub fn requests(&self) -> Vec<String> {
        let server = self.server.lock();
        server.predictions.assert_complete();
        server.requests.clone()
    }

    /// Clears the list of writes.
    pub fn forget_requests(&self) {
        self.server.lock().requests.clear();
    }

    /// Stores a Service in the API server, without adding it to the cache.
    pub fn has_service(&self, name: &str) {
        self.has_service_like(name, json!({}));
    }

    /// The same, with `changes` merged in.
    pub fn has_service_like(&self, name: &str, changes: Value) {
        let kind = json!({"apiVersion": "v1", "kind": "Service"});
        let mut service = merged(service(name, kind), changes);
        service["metadata"]["uid"] = format!("uid-{name}").into();
        match self.server.lock().api.load(&service) {
            Ok(()) | Err(LoadError::Exists(_)) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }

    /// Deletes a Service in the API server, without an event in the cache.
    pub fn has_no_service(&self, name: &str) {
        self.server.lock().delete_service(name);
    }

    /// The names of the Services that the controller has looked up so far.
    pub fn service_lookups(&self) -> Vec<String> {
        self.server.lock().service_lookups.clone()
    }

    /// The Events posted so far, as reason and message.
    pub fn events(&self) -> Vec<(String, String)> {
        let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let events = &self.server.lock().events;
        events.iter().map(|event| (text(event, "reason"), text(event, "message"))).collect()
    }

    /// The Events posted so far, as objects.
    pub fn event_objects(&self) -> Vec<Value> {
        self.server.lock().events.clone()
    }

    /// Refuses creates from now on, because the namespace is being deleted.
    pub fn terminate_namespace(&self) {
        self.server.lock().terminating = true;
    }

    /// Stores the next `count` writes and answers 504, as if the response was lost.
    pub fn lose_answers(&self, count: usize) {
        self.server.lock().lost_answers = count;
    }

    /// Refuses the next `count` requests with 403.
    pub fn refuse(&self, count: usize) {
        self.server.lock().refuse = count;
    }

    /// Refuses creates and updates of matching objects from now on with 403.
    pub fn refuse_if(&self, refused: impl Fn(&T) -> bool + Send + 'static) {
        self.server.lock().refused_if = Some(Box::new(refused));
    }

    /// Lets the next controller have up to `in_flight` syncs under way, if that is more than its workers.
    pub fn overlap(&self, in_flight: usize) {
        self.server.lock().in_flight = in_flight;
    }

    /// Limits the requests of the next controller to `burst` at once and `qps` a second.
    pub fn limit(&self, qps: f64, burst: u32) {
        self.server.lock().limit = Some((qps, burst));
    }

    /// Handles each request of the controller after this time, several at the same time.
    pub fn delay_requests(&self, latency: Duration) {
        self.server.lock().latency = latency;
    }

    /// Answers the next `count` writes with 409.
    pub fn conflict(&self, count: usize) {
        self.server.lock().conflicts = count;
    }

    /// Stops the API server's clock: all that is written from now on is of one second.
    pub fn stop_clock(&self) {
        self.server.lock().step.store(0, Ordering::Relaxed);
    }

    /// Installs a mutating admission webhook for the controller's writes.
    pub fn mutate(&self, webhook: fn(&mut T)) {
        self.server.lock().webhook = Some(webhook);
    }

    /// Holds back the watch events of creates and updates.
    pub fn hold_events(&self) {
        self.server.lock().held = Some(Vec::new());
    }

    /// Delivers the watch events that were held back.
    pub fn release_events(&self) {
        let held = self.server.lock().held.take();
        held.into_iter().flatten().for_each(|object| emit(&self.cache, &object));
    }

    /// Breaks the watch: no watch event is delivered until the next relist.
    pub fn break_watch(&self) {
        self.server.lock().broken = true;
    }

    /// Relists, and resumes the watch.
    pub fn relist(&self) {
        self.cache.begin_list::<T::Cached>();
        let list = self.server.lock().backup();
        let read = |object| read::<T::Cached>(&serde_json::to_value(object).unwrap());
        let deltas = list.objects.values().map(read).map(Delta::Upsert);
        self.cache.apply(deltas.collect::<Vec<_>>(), "", true);
        self.cache.finish_list::<T::Cached>(&list.version.to_string());
        self.server.lock().broken = false;
    }

    /// A backup of the objects stored now.
    pub fn backup(&self) -> Backup<T> {
        self.server.lock().backup()
    }

    /// Restores the storage from a backup. resourceVersions continue from the backup's, plus `bump`.
    pub fn restore(&self, backup: Backup<T>, bump: u64) {
        self.server.lock().restore(backup, bump);
    }

    /// Watches all objects as a component does, from now on.
    pub async fn watch(&self) -> Watched {
        let api = self.server.lock().api.clone();
        Watched::start(api, &format!("{}/{NAMESPACE}/{}", T::NAMESPACES, T::URL_PATH_SEGMENT)).await
    }

    /// The number of objects that are stored.
    pub fn object_count(&self) -> usize {
        self.server.lock().objects.len()
    }

    /// The stored object of this name.
    pub fn stored(&self, name: &str) -> Option<T> {
        self.server.lock().objects.get(name).cloned()
    }

    /// Creates or replaces an object as another client, whose field manager is `other-client`.
    pub fn put(&self, object: T) {
        let stored = self.put_without_event(object);
        emit(&self.cache, &stored);
    }

    /// Creates or replaces an object whose content API servers refuse today, as one of an older release did.
    pub fn put_unchecked(&self, object: T) {
        let stored = self.server.lock().store_unchecked(&object);
        emit(&self.cache, &stored);
    }

    /// The same, without a watch event.
    pub fn put_without_event(&self, object: T) -> T {
        self.server.lock().store(&object)
    }

    /// Deletes an object as another client.
    pub fn delete(&self, name: &str) {
        self.delete_without_event(name);
        self.remove::<T::Cached>(name);
    }

    /// The same, without a watch event.
    pub fn delete_without_event(&self, name: &str) {
        self.server.lock().delete(name);
    }
}

impl TestApi {
    /// The slices of a Service, by name.
    pub fn slices(&self, service: &str) -> Vec<EndpointSlice> {
        let label = |slice: &EndpointSlice| slice.metadata.labels.as_ref()?.get(SERVICE_NAME).cloned();
        let named = |slice: &&EndpointSlice| label(slice).as_deref() == Some(service);
        self.server.lock().objects.values().filter(named).cloned().collect()
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

    /// Edits the first slice of a Service as another client.
    pub fn edit_slice(&self, service: &str, edit: impl FnOnce(&mut EndpointSlice)) {
        let mut slice = self.slices(service).remove(0);
        edit(&mut slice);
        self.put(slice);
    }

    /// Edits the first slice of a Service in a way that API servers refuse today.
    pub fn edit_slice_unchecked(&self, service: &str, edit: impl FnOnce(&mut EndpointSlice)) {
        let mut slice = self.slices(service).remove(0);
        edit(&mut slice);
        self.put_unchecked(slice);
    }

    /// Deletes the first slice of a Service as another client.
    pub fn delete_slice(&self, service: &str) {
        let name = self.delete_slice_without_event(service);
        self.remove::<CachedSlice>(&name);
    }

    /// The same, without a watch event. Returns the slice's name.
    pub fn delete_slice_without_event(&self, service: &str) -> String {
        let name = self.slices(service).remove(0).metadata.name.unwrap();
        self.delete_without_event(&name);
        name
    }
}
