//! The API server with the faults that tests ask for, and the answers to the controller's requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use embedded_apiserver::environment::SystemEnvironment;
use embedded_apiserver::{ApiServer, Environment, Snapshot};
use endpoint_informers::cache::{Cache, CachedResource, Delta};
use futures::FutureExt as _;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::jiff::Timestamp;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::Service as _;

use crate::predictions::Predictions;
use crate::{NAMESPACE, Served, read};

/// The API server in memory, and the faults that are configured.
pub(crate) struct Server<T> {
    pub(crate) api: ApiServer,
    /// Seconds between two looks at the API server's clock.
    pub(crate) step: Arc<AtomicI64>,
    /// The objects of the server that tests look at, by name. Each write goes through here.
    pub(crate) objects: BTreeMap<String, T>,
    pub(crate) requests: Vec<String>,
    pub(crate) predictions: Predictions,
    pub(crate) events: Vec<Value>,
    /// Names of the Services that were looked up.
    pub(crate) service_lookups: Vec<String>,
    /// Names of the objects that were looked up at an older resourceVersion.
    pub(crate) past_lookups: Vec<String>,
    /// The syncs that the next controller may have under way, if that is more than its workers.
    pub(crate) in_flight: usize,
    /// Requests a second, and at once, of the next controller.
    pub(crate) limit: Option<(f64, u32)>,
    /// The time before a request is handled.
    pub(crate) latency: Duration,
    /// The number of next requests to refuse.
    pub(crate) refuse: usize,
    /// Refuses matching creates and updates.
    pub(crate) refused_if: Option<Box<dyn Fn(&T) -> bool + Send>>,
    /// The number of next writes to answer with a conflict.
    pub(crate) conflicts: usize,
    /// Creates are refused, because the namespace is being deleted.
    pub(crate) terminating: bool,
    /// The number of next writes whose answers are lost.
    pub(crate) lost_answers: usize,
    /// Watch events that are held back; `None` if events are delivered.
    pub(crate) held: Option<Vec<T>>,
    /// A mutating admission webhook.
    pub(crate) webhook: Option<fn(&mut T)>,
    /// The watch is broken: events are lost.
    pub(crate) broken: bool,
    /// The resourceVersion of the last object of another kind in the cache.
    pub(crate) cached_version: u64,
    /// Objects that were created under a generated name.
    created: usize,
}

impl<T> Server<T> {
    /// Records a write.
    fn receive(&mut self, request: String) {
        self.predictions.check(&request);
        self.requests.push(request);
    }
}

/// The state of the API server at one moment.
pub struct Backup<T> {
    pub(crate) objects: BTreeMap<String, T>,
    pub(crate) version: u64,
    snapshot: Snapshot,
}

/// A clock that advances by a second each time it is read, so that the order of writes can be read off managed fields.
struct Seconds {
    elapsed: AtomicI64,
    /// Seconds by which each reading of the clock advances it.
    step: Arc<AtomicI64>,
    random: SystemEnvironment,
}

impl Seconds {
    fn since(begin: i64, step: Arc<AtomicI64>) -> Self {
        Self { elapsed: AtomicI64::new(begin), step, random: SystemEnvironment::seeded(1) }
    }
}

impl Environment for Seconds {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.elapsed.fetch_add(self.step.load(Ordering::Relaxed), Ordering::Relaxed))
            .unwrap()
    }

    fn random(&self) -> u64 {
        self.random.random()
    }
}

impl<T: Served> Default for Server<T> {
    fn default() -> Self {
        let step = Arc::new(AtomicI64::new(1));
        let clock = Seconds::since(1_000_000_000, Arc::clone(&step));
        Self {
            api: ApiServer::builder().environment(clock).build(),
            step,
            objects: BTreeMap::new(),
            requests: Vec::new(),
            predictions: Predictions::default(),
            events: Vec::new(),
            service_lookups: Vec::new(),
            past_lookups: Vec::new(),
            in_flight: 0,
            limit: None,
            latency: Duration::ZERO,
            refuse: 0,
            refused_if: None,
            conflicts: 0,
            terminating: false,
            lost_answers: 0,
            held: None,
            webhook: None,
            broken: false,
            cached_version: 0,
            created: 0,
        }
    }
}

impl<T: Served> Server<T> {
    /// Reads an object that may have changed.
    fn refresh(&mut self, name: &str) -> Option<T> {
        let (status, answer) = self.call(&Method::GET, &format!("{}/{name}", path::<T>()), &json!({}));
        if status == StatusCode::NOT_FOUND {
            return self.objects.remove(name);
        }
        let object: T = serde_json::from_value(answer).unwrap();
        self.objects.insert(name.to_owned(), object.clone());
        Some(object)
    }

    pub(crate) fn backup(&self) -> Backup<T> {
        Backup { objects: self.objects.clone(), version: self.api.version(), snapshot: self.api.snapshot() }
    }

    /// resourceVersions continue from the backup's, plus `bump`.
    pub(crate) fn restore(&mut self, backup: Backup<T>, bump: u64) {
        self.api.restore(&backup.snapshot, Some(backup.version + bump + 1));
        self.objects = backup.objects;
    }

    /// Stores an object as a write of another client, whose field manager is `other-client`. An object with a
    /// deletionTimestamp is deleted, and a finalizer keeps it.
    pub(crate) fn store(&mut self, object: &T) -> T {
        let mut object = serde_json::to_value(object).unwrap();
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.insert("namespace".to_owned(), NAMESPACE.into());
        for of_the_server in ["resourceVersion", "uid"] {
            metadata.remove(of_the_server);
        }
        let deleted = metadata.remove("deletionTimestamp").is_some();
        if deleted {
            metadata.entry("finalizers").or_insert_with(|| json!(["tests.example/kept"]));
        }
        let name = metadata["name"].as_str().unwrap().to_owned();
        let path = path::<T>();
        let (method, path) = if self.objects.contains_key(&name) {
            (Method::PUT, format!("{path}/{name}"))
        } else {
            (Method::POST, path)
        };
        let (status, answer) = self.call(&method, &format!("{path}?fieldManager=other-client"), &object);
        assert!(status.is_success(), "{method} {path}: {answer}");
        if deleted {
            self.delete(&name);
        }
        self.refresh(&name).unwrap()
    }

    /// Stores an object as an API server did that did not yet refuse its content.
    pub(crate) fn store_unchecked(&mut self, object: &T) -> T {
        let mut object = with_type(object);
        object["metadata"]["namespace"] = NAMESPACE.into();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        self.delete(&name);
        self.api.load(&object).unwrap();
        self.refresh(&name).unwrap()
    }

    /// Deletes an object as another client.
    pub(crate) fn delete(&mut self, name: &str) {
        let path = format!("{}/{name}", path::<T>());
        let (status, answer) = self.call(&Method::DELETE, &path, &json!({}));
        assert!(status.is_success() || status == StatusCode::NOT_FOUND, "DELETE {path}: {answer}");
        self.refresh(name);
    }

    /// Deletes a Service as another client.
    pub(crate) fn delete_service(&self, name: &str) {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/services/{name}");
        let (status, answer) = self.call(&Method::DELETE, &path, &json!({}));
        assert!(status.is_success(), "DELETE {path}: {answer}");
    }

    /// Sends a request of another client. The server is in process and needs no runtime.
    fn call(&self, method: &Method, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string().into_bytes()))
            .unwrap();
        let answer = self.api.clone().call(request).now_or_never().expect("an answer without IO").unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().now_or_never().expect("a body without IO").unwrap();
        (status, serde_json::from_slice(&body.to_bytes()).unwrap_or_default())
    }

    /// The refusal of this request, if the test refuses all.
    fn refused(&mut self) -> Option<Response<Body>> {
        self.refuse = self.refuse.checked_sub(1)?;
        Some(status(StatusCode::FORBIDDEN, "Forbidden", "exceeded quota"))
    }

    /// The refusal of this write that the test asks for.
    fn refusal(&mut self, method: &Method, object: &T) -> Option<Response<Body>> {
        if let Some(refusal) = self.refused() {
            return Some(refusal);
        }
        if self.refused_if.as_ref().is_some_and(|refused| refused(object)) {
            return Some(status(StatusCode::FORBIDDEN, "Forbidden", "a policy"));
        }
        if self.conflicts > 0 {
            self.conflicts -= 1;
            return Some(status(StatusCode::CONFLICT, "Conflict", "modified"));
        }
        (method == Method::POST && self.terminating).then(namespace_terminating)
    }

    /// The object as the webhook leaves it. Generated names are counted, so that tests can name them.
    fn admitted(&mut self, mut object: T) -> T {
        if let Some(webhook) = self.webhook {
            webhook(&mut object);
        }
        let metadata = object.metadata_mut();
        if metadata.name.is_none() {
            self.created += 1;
            metadata.name = metadata.generate_name.as_ref().map(|prefix| format!("{prefix}{}", self.created));
        }
        object
    }
}

/// The path of all objects of the tests.
fn path<T: Served>() -> String {
    format!("{}/{NAMESPACE}/{}", T::NAMESPACES, T::URL_PATH_SEGMENT)
}

/// Delivers the watch event of an object to the cache.
pub(crate) fn emit<T: Served>(cache: &Cache, object: &T) {
    let version = object.metadata().resource_version.clone().unwrap_or_default();
    let upsert = Delta::Upsert(read::<T::Cached>(&serde_json::to_value(object).unwrap()));
    cache.apply([upsert], &version, false);
}

/// Delivers the watch event of a deletion at this resourceVersion to the cache.
pub(crate) fn emit_deletion<K: CachedResource>(cache: &Cache, name: &str, version: &str) {
    let namespace = if K::NAMESPACED { NAMESPACE } else { "" };
    let (namespace, name, resource_version) = (namespace.to_owned(), name.to_owned(), version.to_owned());
    cache.apply([Delta::<K>::Delete { namespace, name, resource_version }], version, false);
}

/// Answers a request of the controller. The watch event comes before the answer, as it may with a real API server.
pub(crate) async fn answer<T: Served>(
    server: &Mutex<Server<T>>,
    cache: &Cache,
    request: Request<Body>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    let name = head.uri.path().rsplit('/').next().unwrap().to_owned();
    if head.uri.path().contains("/events") {
        server.lock().events.push(serde_json::from_slice(&body).unwrap());
        return forward(server, head, body).await;
    }
    match head.method {
        Method::GET => look_up(server, head, &name).await,
        Method::DELETE => delete(server, cache, head, body, &name).await,
        _ => write(server, cache, head, &body, &name).await,
    }
}

/// Answers a lookup of a Service, or of an object at an older resourceVersion: a list of one.
async fn look_up<T: Served>(server: &Mutex<Server<T>>, head: Parts, kind: &str) -> Response<Body> {
    let query = head.uri.query().and_then(|query| query.strip_prefix("fieldSelector=metadata.name="));
    let (name, version) = query.map(|query| query.split_once('&').unwrap_or((query, ""))).expect("a name");
    let refusal = {
        let mut server = server.lock();
        let lookups = match kind {
            "services" => &mut server.service_lookups,
            kind => {
                assert_eq!(kind, T::URL_PATH_SEGMENT);
                assert!(version.ends_with("&resourceVersionMatch=Exact"), "{version}");
                &mut server.past_lookups
            }
        };
        lookups.push(name.to_owned());
        server.refused()
    };
    match refusal {
        Some(refusal) => refusal,
        None => forward(server, head, Vec::new()).await,
    }
}

async fn delete<T: Served>(
    server: &Mutex<Server<T>>,
    cache: &Cache,
    head: Parts,
    options: Vec<u8>,
    name: &str,
) -> Response<Body> {
    let refusal = {
        let mut server = server.lock();
        server.receive(format!("DELETE {name}"));
        server.refused()
    };
    if let Some(refusal) = refusal {
        return refusal;
    }
    let answer = forward(server, head, options).await;
    let gone = {
        let mut server = server.lock();
        server.refresh(name);
        !server.broken && !server.objects.contains_key(name)
    };
    if answer.status().is_success() && gone {
        let version = server.lock().api.version();
        emit_deletion::<T::Cached>(cache, name, &version.to_string());
    }
    answer
}

/// Answers a create or an update.
async fn write<T: Served>(
    server: &Mutex<Server<T>>,
    cache: &Cache,
    head: Parts,
    body: &[u8],
    name: &str,
) -> Response<Body> {
    let object: T = serde_json::from_slice(body).unwrap();
    let sent = {
        let mut server = server.lock();
        let metadata = object.metadata();
        let given = metadata.name.as_deref().or(metadata.generate_name.as_deref());
        let target = if head.method == Method::POST { given.unwrap() } else { name };
        server.receive(format!("{} {target}", head.method));
        if let Some(refusal) = server.refusal(&head.method, &object) {
            return refusal;
        }
        server.admitted(object)
    };
    let answer = forward(server, head, serde_json::to_vec(&with_type(&sent)).unwrap()).await;
    if !answer.status().is_success() {
        return answer;
    }
    let (head, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let stored: T = serde_json::from_slice(&body).unwrap();
    let delivered = {
        let mut server = server.lock();
        server.objects.insert(stored.metadata().name.clone().unwrap(), stored.clone());
        let held = server.held.as_mut().map(|held| held.push(stored.clone()));
        held.is_none() && !server.broken
    };
    if delivered {
        emit(cache, &stored);
    }
    tokio::task::yield_now().await;
    let lost = {
        let mut server = server.lock();
        let lost = server.lost_answers > 0;
        server.lost_answers = server.lost_answers.saturating_sub(1);
        lost
    };
    if lost {
        return status(StatusCode::GATEWAY_TIMEOUT, "Timeout", "request timed out");
    }
    Response::from_parts(head, Body::from(body.to_vec()))
}

/// Lets the API server answer.
async fn forward<T: Served>(server: &Mutex<Server<T>>, mut head: Parts, body: Vec<u8>) -> Response<Body> {
    // The body may have another length than the controller's.
    head.headers.remove(http::header::CONTENT_LENGTH);
    let mut api = server.lock().api.clone();
    let answer = api.call(Request::from_parts(head, Body::from(body))).await.unwrap();
    let (head, body) = answer.into_parts();
    Response::from_parts(head, Body::from(body.collect().await.unwrap().to_bytes().to_vec()))
}

/// An object in JSON with kind and apiVersion.
fn with_type<T: Served>(object: &T) -> Value {
    let mut value = serde_json::to_value(object).unwrap();
    let fields = value.as_object_mut().unwrap();
    fields.insert("apiVersion".to_owned(), T::API_VERSION.into());
    fields.insert("kind".to_owned(), T::KIND.into());
    value
}

fn namespace_terminating() -> Response<Body> {
    let status = json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "being terminated",
        "details": {"causes": [{"reason": "NamespaceTerminating"}]}});
    answer_json(StatusCode::FORBIDDEN, &status)
}

fn status(code: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let status = json!({"kind": "Status", "code": code.as_u16(), "reason": reason, "message": message});
    answer_json(code, &status)
}

fn answer_json(status: StatusCode, value: &Value) -> Response<Body> {
    let response = Response::builder().status(status).header(http::header::CONTENT_TYPE, "application/json");
    response.body(Body::from(value.to_string().into_bytes())).unwrap()
}
