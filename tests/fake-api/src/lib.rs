//! An API server of one kind, EndpointSlices or Endpoints, in memory, for tests of controllers: it answers writes, notes
//! events, and puts what changes into the controller's cache, as a watch would. Everything else a test puts there by
//! itself.
//!
//! It is quick and can misbehave on demand. What only a real API server can show is tested on one (`tests`).

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking; objects are made to be given away"
)]

mod objects;
mod running;
mod server;

use std::sync::Arc;
use std::time::Duration;

use controller_kit::queue::Lane;
use endpoint_informers::cache::{Cache, CachedEndpoints, CachedSlice, DelegatedService, News};
use endpoint_informers::kinds::Kind;
use endpointslice::well_known::{SERVICE_NAME, TOPOLOGY_ZONE};
use endpointslice::{Interner, Node, Pod, Service};
use http::Request;
use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::client::Body;
use kube_api::{ApiClient, Encoding};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use crate::objects::{merged, object, pod, service};
pub use crate::running::Running;
pub use crate::server::Backup;
use crate::server::{Server, answer, emit};

/// The namespace of all objects.
pub const NAMESPACE: &str = "default";

const LIVE: Lane = Lane::Live;
/// The controller's own field manager.
const MANAGER: &str = "test";

/// The API server, and the cache that shows its objects. Clones are the same server.
pub struct FakeApi<T = EndpointSlice> {
    cache: Arc<Cache>,
    server: Arc<Mutex<Server<T>>>,
}

/// A kind that this server can store.
pub trait Served:
    Metadata<Ty = ObjectMeta> + Clone + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Its form in the cache.
    type Cached: Kind;
    /// What the uids begin with.
    const UID_PREFIX: &'static str;
}

impl Served for EndpointSlice {
    type Cached = CachedSlice;
    const UID_PREFIX: &'static str = "slice";
}

impl Served for Endpoints {
    type Cached = CachedEndpoints;
    const UID_PREFIX: &'static str = "endpoints";
}

impl<T> Clone for FakeApi<T> {
    fn clone(&self) -> Self {
        Self { cache: Arc::clone(&self.cache), server: Arc::clone(&self.server) }
    }
}

impl<T> Default for FakeApi<T> {
    fn default() -> Self {
        Self { cache: Arc::default(), server: Arc::default() }
    }
}

fn read<K: Kind>(object: &Value) -> K {
    K::from_json(&object.to_string(), &mut Interner::default()).unwrap()
}

impl<T: Served> FakeApi<T> {
    fn client(&self) -> ApiClient {
        let fake = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let fake = fake.clone();
            async move { Ok::<_, std::convert::Infallible>(answer(&fake.server, &fake.cache, request).await) }
        });
        ApiClient::new(kube::Client::new(service, NAMESPACE), Encoding::Json, MANAGER)
    }

    /// Lets the paused clock run until delayed syncs (a second, or the first retries) are over.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }

    /// Lets the paused clock run.
    pub async fn advance(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Puts an object that is not of this server's kind into the cache, in a version of its own.
    pub fn show<K: Kind>(&self, mut object: Value) {
        let version = {
            let mut server = self.server.lock();
            server.shown += 1;
            server.shown.to_string()
        };
        object["metadata"]["resourceVersion"] = version.into();
        self.cache.upsert(read::<K>(&object), LIVE);
    }

    /// The same, as if a list had shown it after a gap in the watch.
    pub fn show_listed<K: Kind>(&self, mut object: Value) {
        object["metadata"]["resourceVersion"] = format!("listed-{}", self.requests().len()).into();
        self.cache.upsert(read::<K>(&object), Lane::Background);
    }

    /// The watch shows an object of this name that can't be read; with an empty name, one whose name can't be read either.
    pub fn show_damaged<K: Kind>(&self, name: &str) {
        let namespace = if K::NAMESPACED { NAMESPACE } else { "" };
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.cache.apply([News::<K>::Unreadable { namespace, name }], "", LIVE);
    }

    /// Puts a Service into the cache.
    pub fn service(&self, object: Value) {
        self.show::<Service>(object);
    }

    /// Puts a Pod into the cache.
    pub fn pod(&self, object: Value) {
        self.show::<Pod>(object);
    }

    /// Puts a Node into the cache that is nothing but in a zone.
    pub fn node(&self, name: &str, zone: &str) {
        self.show::<Node>(json!({"metadata": {"name": name, "labels": {TOPOLOGY_ZONE: zone}}}));
    }

    /// A Service with a selector is seen in the hands of another controller.
    pub fn delegate(&self, name: &str) {
        self.delegate_selecting(name, json!({"app": name}));
    }

    /// The same with this selector.
    pub fn delegate_selecting(&self, name: &str, selector: Value) {
        let metadata = json!({"name": name, "namespace": NAMESPACE});
        self.show::<DelegatedService>(json!({"metadata": metadata, "spec": {"selector": selector}}));
    }

    /// The same with an object that the test has read itself, such as one that keeps annotations.
    pub fn show_object<K: Kind>(&self, object: K) {
        self.cache.upsert(object, LIVE);
    }

    /// Takes an object that is not of this server's kind out of the cache.
    pub fn hide<K: Kind>(&self, name: &str) {
        let namespace = if K::NAMESPACED { NAMESPACE } else { "" };
        self.cache.remove::<K>(namespace, name, LIVE);
    }

    /// The writes so far, as method and name.
    pub fn requests(&self) -> Vec<String> {
        self.server.lock().requests.clone()
    }

    /// Starts over with an empty list of writes.
    pub fn forget_requests(&self) {
        self.server.lock().requests.clear();
    }

    /// A Service that the API server has, whatever the cache shows.
    pub fn has_service(&self, name: &str) {
        self.server.lock().services.insert(name.to_owned());
    }

    /// The Services that were asked for by name so far.
    pub fn asked(&self) -> Vec<String> {
        self.server.lock().asked.clone()
    }

    /// The events posted so far, as reason and message.
    pub fn told(&self) -> Vec<(String, String)> {
        let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let events = &self.server.lock().events;
        events.iter().map(|event| (text(event, "reason"), text(event, "message"))).collect()
    }

    /// The events posted so far, whole.
    pub fn events(&self) -> Vec<Value> {
        self.server.lock().events.clone()
    }

    /// Refuses creates, because the namespace is being deleted.
    pub fn terminate_namespace(&self) {
        self.server.lock().terminating = true;
    }

    /// Stores so many writes, but loses the answers.
    pub fn lose_answers(&self, count: usize) {
        self.server.lock().lost_answers = count;
    }

    /// Answers so many requests with a failure.
    pub fn refuse(&self, count: usize) {
        self.server.lock().refuse = count;
    }

    /// Refuses creates and updates of these from now on.
    pub fn refuse_if(&self, refused: impl Fn(&T) -> bool + Send + 'static) {
        self.server.lock().refused_if = Some(Box::new(refused));
    }

    /// Answers so many writes with a conflict.
    pub fn conflict(&self, count: usize) {
        self.server.lock().conflicts = count;
    }

    /// A mutating admission webhook changes what the controller writes.
    pub fn mutate(&self, webhook: fn(&mut T)) {
        self.server.lock().webhook = Some(webhook);
    }

    /// Keeps watch events of creates and updates back.
    pub fn hold_events(&self) {
        self.server.lock().held = Some(Vec::new());
    }

    /// Lets all watch events through that were kept back.
    pub fn release_events(&self) {
        let held = self.server.lock().held.take();
        held.into_iter().flatten().for_each(|object| emit(&self.cache, &object));
    }

    /// The watch breaks: from now on nothing tells the cache of writes, until it is listed again.
    pub fn break_watch(&self) {
        self.server.lock().broken = true;
    }

    /// A list of what is stored now begins. What is written from now on is not in it.
    pub fn begin_list(&self) -> Backup<T> {
        self.cache.begin_list::<T::Cached>();
        self.backup()
    }

    /// The list is complete, and the watch goes on from there.
    pub fn finish_list(&self, list: Backup<T>) {
        list.objects.values().for_each(|object| emit(&self.cache, object));
        self.cache.finish_list::<T::Cached>(&list.resource_version());
        self.server.lock().broken = false;
    }

    /// The cache is listed again.
    pub fn relist(&self) {
        self.finish_list(self.begin_list());
    }

    /// What is stored now.
    pub fn backup(&self) -> Backup<T> {
        self.server.lock().backup()
    }

    /// The storage is restored from a backup. Versions go on from that of the backup, or higher by `bump`.
    pub fn restore(&self, backup: Backup<T>, bump: u64) {
        self.server.lock().restore(backup, bump);
    }

    /// The object of this name.
    pub fn stored(&self, name: &str) -> Option<T> {
        self.server.lock().objects.get(name).cloned()
    }

    /// Another client creates or replaces an object: the field manager `somebody`.
    pub fn put(&self, object: T) {
        let stored = self.put_unseen(object);
        emit(&self.cache, &stored);
    }

    /// Somebody else creates or replaces an object, and the watch is silent about it.
    pub fn put_unseen(&self, object: T) -> T {
        self.server.lock().store(object, "somebody")
    }

    /// Somebody else deletes an object.
    pub fn take(&self, name: &str) {
        self.take_unseen(name);
        self.cache.remove::<T::Cached>(NAMESPACE, name, LIVE);
    }

    /// Somebody else deletes an object, and the watch is silent about it.
    pub fn take_unseen(&self, name: &str) {
        self.server.lock().objects.remove(name);
    }
}

impl FakeApi {
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

    /// Somebody else changes the first slice of a Service.
    pub fn edit_slice(&self, service: &str, edit: impl FnOnce(&mut EndpointSlice)) {
        let mut slice = self.slices(service).remove(0);
        edit(&mut slice);
        self.put(slice);
    }

    /// Somebody else deletes the first slice of a Service, and no watch event tells of it. Returns its name.
    pub fn lose_slice(&self, service: &str) -> String {
        let name = self.slices(service).remove(0).metadata.name.unwrap();
        self.take_unseen(&name);
        name
    }

    /// Somebody else deletes the first slice of a Service.
    pub fn delete_slice(&self, service: &str) {
        let name = self.lose_slice(service);
        self.cache.remove::<CachedSlice>(NAMESPACE, &name, LIVE);
    }
}
