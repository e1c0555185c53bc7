//! An API server of one resource, in memory: answers writes of EndpointSlices and puts the events into the cache.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "shared by the tests beside it, which fail by panicking; objects are made to be given away"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use controller_runtime::api::{ApiClient, Encoding};
use controller_runtime::cache::{Cache, CachedSlice};
use controller_runtime::kinds::Kind;
use controller_runtime::queue::QueueMetrics;
use endpointslice::well_known::SERVICE_NAME;
use endpointslice::{Interner, Node, Pod, Service};
use endpointslice_controller::{Config, EndpointSliceController};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::client::Body;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

pub const NAMESPACE: &str = "default";

/// A Service that selects `app: NAME`, with `changes` merged in.
pub fn service(name: &str, changes: Value) -> Value {
    let mut object = json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"), "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"],
            "selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
    });
    merge(&mut object, changes);
    object
}

/// A pod of the Service that its name begins with, on `node-1`.
pub fn pod(name: &str, address: &str, ready: bool) -> Value {
    let app = name.rsplit_once('-').map_or(name, |(app, _)| app);
    json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"), "resourceVersion": "1",
            "labels": {"app": app}},
        "spec": {"nodeName": "node-1", "containers": []},
        "status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
    })
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

/// The cache, as a test fills it.
pub struct Filler<'a>(&'a Cache);

impl Filler<'_> {
    pub fn node(&self, name: &str, zone: &str) {
        let labels = json!({endpointslice::well_known::TOPOLOGY_ZONE: zone});
        self.0.upsert(read::<Node>(&json!({"metadata": {"name": name, "labels": labels}})), LIVE);
    }

    pub fn service(&self, object: Value) {
        self.0.upsert(read::<Service>(&object), LIVE);
    }

    pub fn pod(&self, object: Value) {
        self.0.upsert(read::<Pod>(&object), LIVE);
    }

    pub fn remove_service(&self, name: &str) {
        self.0.remove::<Service>(NAMESPACE, name, LIVE);
    }
}

const LIVE: controller_runtime::queue::Lane = controller_runtime::queue::Lane::Live;

#[derive(Default)]
struct Server {
    slices: BTreeMap<String, EndpointSlice>,
    requests: Vec<String>,
    version: u64,
    created: usize,
    refuse: usize,
    conflicts: usize,
    held: Option<Vec<EndpointSlice>>,
    events: Vec<(String, String)>,
}

/// The controller, running.
pub struct Fake {
    cache: Arc<Cache>,
    server: Arc<Mutex<Server>>,
    registry: Registry,
    controller: Arc<EndpointSliceController>,
}

/// Starts a controller on this cache and this server.
fn run(
    cache: &Arc<Cache>,
    server: &Arc<Mutex<Server>>,
    batch_period: Duration,
) -> (Registry, Arc<EndpointSliceController>) {
    let (serving, shown) = (Arc::clone(server), Arc::clone(cache));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (server, cache) = (Arc::clone(&serving), Arc::clone(&shown));
        async move { Ok::<_, std::convert::Infallible>(answer(&server, &cache, request).await) }
    });
    let client = ApiClient::new(kube::Client::new(service, NAMESPACE), Encoding::Json, "test");
    let config = Config { workers: 5, max_endpoints_per_slice: 100, batch_period };
    let mut registry = Registry::default();
    let queues = QueueMetrics::register(&mut registry);
    let (controller, events) =
        EndpointSliceController::new(config, Arc::clone(cache), client, &queues, &mut registry);
    tokio::spawn(events.run(std::future::pending()));
    tokio::spawn(Arc::clone(&controller).run());
    (registry, controller)
}

impl Fake {
    pub fn start(batch_period: Duration, fill: impl FnOnce(Filler<'_>)) -> Self {
        let cache = Arc::new(Cache::default());
        fill(Filler(&cache));
        let server = Arc::new(Mutex::new(Server::default()));
        let (registry, controller) = run(&cache, &server, batch_period);
        Self { cache, server, registry, controller }
    }

    /// Ends the controller and starts another, on the same cache and the same slices.
    pub async fn restart(self) -> Self {
        let Self { cache, server, controller, .. } = self;
        controller.shut_down();
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.lock().requests.clear();
        let (registry, controller) = run(&cache, &server, Duration::ZERO);
        Self { cache, server, registry, controller }
    }

    /// Lets the paused clock run until delayed syncs (a second, or the first retries) are over.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }

    pub async fn advance(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    pub fn pod(&self, object: Value) {
        Filler(&self.cache).pod(object);
    }

    pub fn node(&self, name: &str, zone: &str) {
        Filler(&self.cache).node(name, zone);
    }

    /// Deletes a Service and creates it again under another uid, in one moment.
    pub fn recreate_service(&self, name: &str, uid: &str) {
        Filler(&self.cache).remove_service(name);
        let metadata = json!({"metadata": {"uid": uid, "resourceVersion": "2"}});
        Filler(&self.cache).service(service(name, metadata));
    }

    /// The writes so far, as method and name.
    pub fn requests(&self) -> Vec<String> {
        self.server.lock().requests.clone()
    }

    pub fn forget_requests(&self) {
        self.server.lock().requests.clear();
    }

    /// Answers so many writes with a failure.
    pub fn refuse(&self, count: usize) {
        self.server.lock().refuse = count;
    }

    /// Answers so many writes with a conflict.
    pub fn conflict(&self, count: usize) {
        self.server.lock().conflicts = count;
    }

    /// The events posted so far, as reason and message.
    pub fn told(&self) -> Vec<(String, String)> {
        self.server.lock().events.clone()
    }

    /// The zone of each endpoint of a Service.
    pub fn zones(&self, service: &str) -> Vec<Option<String>> {
        let endpoints = self.of(service).into_iter().flat_map(|slice| slice.endpoints.into_iter().flatten());
        endpoints.map(|endpoint| endpoint.zone).collect()
    }

    pub fn hold_events(&self) {
        self.server.lock().held = Some(Vec::new());
    }

    pub fn release_events(&self) {
        let held = self.server.lock().held.take();
        held.into_iter().flatten().for_each(|slice| self.emit(&slice));
    }

    pub fn slice_count(&self, service: &str) -> usize {
        self.of(service).len()
    }

    /// The addresses in the slices of a Service, sorted.
    pub fn addresses(&self, service: &str) -> Vec<String> {
        let endpoints = self.of(service).into_iter().flat_map(|slice| slice.endpoints.into_iter().flatten());
        let mut addresses: Vec<String> = endpoints.flat_map(|endpoint| endpoint.addresses).collect();
        addresses.sort();
        addresses
    }

    /// Somebody else changes the first slice of a Service.
    pub fn edit_slice(&self, service: &str, edit: impl FnOnce(&mut EndpointSlice)) {
        let mut slice = self.of(service).remove(0);
        edit(&mut slice);
        let stored = self.server.lock().store(slice);
        self.emit(&stored);
    }

    /// Somebody else deletes the first slice of a Service.
    pub fn delete_slice(&self, service: &str) {
        let name = self.of(service).remove(0).metadata.name.unwrap();
        self.server.lock().slices.remove(&name);
        self.cache.remove::<CachedSlice>(NAMESPACE, &name, LIVE);
    }

    /// How many syncs succeeded, from the metrics.
    pub fn syncs(&self) -> u64 {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        let line =
            text.lines().find(|line| line.starts_with("endpoint_slice_controller_syncs{result=\"success\"}"));
        line.and_then(|line| line.rsplit(' ').next()).map_or(0, |count| count.parse().unwrap())
    }

    fn of(&self, service: &str) -> Vec<EndpointSlice> {
        let named = |slice: &&EndpointSlice| {
            slice
                .metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get(SERVICE_NAME))
                .is_some_and(|name| name == service)
        };
        self.server.lock().slices.values().filter(named).cloned().collect()
    }

    fn emit(&self, slice: &EndpointSlice) {
        emit(&self.cache, slice);
    }
}

fn emit(cache: &Cache, slice: &EndpointSlice) {
    cache.upsert(read::<CachedSlice>(&serde_json::to_value(slice).unwrap()), LIVE);
}

impl Server {
    /// What the API server adds to an object.
    fn store(&mut self, mut slice: EndpointSlice) -> EndpointSlice {
        self.version += 1;
        let metadata = &mut slice.metadata;
        metadata.resource_version = Some((100 + self.version).to_string());
        if metadata.name.is_none() {
            self.created += 1;
            metadata.name = Some(format!("{}{}", metadata.generate_name.clone().unwrap(), self.created));
        }
        let name = metadata.name.clone().unwrap();
        let before = self.slices.get(&name);
        let generation = before.and_then(|slice| slice.metadata.generation).unwrap_or_default();
        metadata.generation = Some(generation + 1);
        metadata.uid =
            before.and_then(|slice| slice.metadata.uid.clone()).or(Some(format!("slice-{}", self.version)));
        self.slices.insert(name, slice.clone());
        slice
    }
}

/// The event comes before the answer, as it may in life.
async fn answer(server: &Mutex<Server>, cache: &Cache, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let name = parts.uri.path().rsplit('/').next().unwrap().to_owned();
    if parts.uri.path().contains("/events") {
        let event: Value = serde_json::from_slice(&body).unwrap();
        let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
        server.lock().events.push((text("reason"), text("message")));
        return json_answer(StatusCode::OK, &event);
    }
    if parts.method == Method::DELETE {
        let mut server = server.lock();
        server.requests.push(format!("DELETE {name}"));
        server.slices.remove(&name);
        drop(server);
        cache.remove::<CachedSlice>(NAMESPACE, &name, LIVE);
        return json_answer(StatusCode::OK, &json!({"kind": "Status"}));
    }
    let slice: EndpointSlice = serde_json::from_slice(&body).unwrap();
    let stored = {
        let mut server = server.lock();
        let shown =
            if parts.method == Method::POST { slice.metadata.generate_name.clone() } else { Some(name) };
        server.requests.push(format!("{} {}", parts.method, shown.unwrap()));
        if server.refuse > 0 {
            server.refuse -= 1;
            let status =
                json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "exceeded quota"});
            return json_answer(StatusCode::FORBIDDEN, &status);
        }
        if server.conflicts > 0 {
            server.conflicts -= 1;
            let status = json!({"kind": "Status", "code": 409, "reason": "Conflict", "message": "modified"});
            return json_answer(StatusCode::CONFLICT, &status);
        }
        server.store(slice)
    };
    let held = server.lock().held.as_mut().map(|held| held.push(stored.clone()));
    if held.is_none() {
        emit(cache, &stored);
    }
    tokio::task::yield_now().await;
    json_answer(StatusCode::OK, &serde_json::to_value(&stored).unwrap())
}

fn json_answer(status: StatusCode, value: &Value) -> Response<Body> {
    let response = Response::builder().status(status).header(http::header::CONTENT_TYPE, "application/json");
    response.body(Body::from(value.to_string().into_bytes())).unwrap()
}
