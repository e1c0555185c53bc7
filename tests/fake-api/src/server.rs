//! Storage, and the answers to writes.

use std::collections::{BTreeMap, BTreeSet};

use endpoint_informers::cache::Cache;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{MANAGER, NAMESPACE, Served, read};

/// The stored objects, and the failures that are configured.
pub(crate) struct Server<T> {
    pub(crate) objects: BTreeMap<String, T>,
    pub(crate) requests: Vec<String>,
    pub(crate) events: Vec<Value>,
    /// Services that a lookup finds.
    pub(crate) services: BTreeSet<String>,
    /// Names of the Services that were looked up.
    pub(crate) service_lookups: Vec<String>,
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
    version: u64,
    created: usize,
}

/// The objects stored at one moment.
pub struct Backup<T> {
    pub(crate) objects: BTreeMap<String, T>,
    version: u64,
}

impl<T> Backup<T> {
    pub(crate) fn resource_version(&self) -> String {
        resource_version(self.version)
    }
}

fn resource_version(version: u64) -> String {
    (100 + version).to_string()
}

impl<T> Default for Server<T> {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            requests: Vec::new(),
            events: Vec::new(),
            services: BTreeSet::new(),
            service_lookups: Vec::new(),
            refuse: 0,
            refused_if: None,
            conflicts: 0,
            terminating: false,
            lost_answers: 0,
            held: None,
            webhook: None,
            broken: false,
            cached_version: 0,
            version: 0,
            created: 0,
        }
    }
}

impl<T: Served> Server<T> {
    pub(crate) fn backup(&self) -> Backup<T> {
        Backup { objects: self.objects.clone(), version: self.version }
    }

    /// resourceVersions continue from the backup's, plus `bump`.
    pub(crate) fn restore(&mut self, backup: Backup<T>, bump: u64) {
        self.objects = backup.objects;
        self.version = backup.version + bump;
    }

    /// Stores an object with the metadata that the API server sets for a write by `manager`.
    pub(crate) fn store(&mut self, mut object: T, manager: &str) -> T {
        self.version += 1;
        let metadata = object.metadata_mut();
        metadata.managed_fields = Some(vec![ManagedFieldsEntry {
            manager: Some(manager.to_owned()),
            time: Timestamp::from_second(i64::try_from(self.version).unwrap()).ok().map(Time),
            ..ManagedFieldsEntry::default()
        }]);
        metadata.resource_version = Some(resource_version(self.version));
        metadata.namespace.get_or_insert_with(|| NAMESPACE.to_owned());
        if metadata.name.is_none() {
            self.created += 1;
            metadata.name = Some(format!("{}{}", metadata.generate_name.clone().unwrap(), self.created));
        }
        let name = metadata.name.clone().unwrap();
        let before = self.objects.get(&name);
        let uid = before.and_then(|before| before.metadata().uid.clone());
        metadata.uid = uid.or(Some(format!("{}-{}", T::UID_PREFIX, self.version)));
        let generation = before.and_then(|before| before.metadata().generation).unwrap_or_default();
        let changed = before.is_none_or(|before| counted(before) != counted(&object));
        object.metadata_mut().generation = Some(generation + i64::from(changed));
        self.objects.insert(name, object.clone());
        object
    }

    /// The refusal of this request, if the test refuses all.
    fn refused(&mut self) -> Option<Response<Body>> {
        self.refuse = self.refuse.checked_sub(1)?;
        Some(status(StatusCode::FORBIDDEN, "Forbidden", "exceeded quota"))
    }

    /// The refusal of this write, if it is invalid or the test refuses it.
    fn refusal(&mut self, method: &Method, object: &T, name: &str) -> Option<Response<Body>> {
        let conflict = StatusCode::CONFLICT;
        if let Some(refusal) = self.refused() {
            return Some(refusal);
        }
        if self.refused_if.as_ref().is_some_and(|refused| refused(object)) {
            return Some(status(StatusCode::FORBIDDEN, "Forbidden", "a policy"));
        }
        if self.conflicts > 0 {
            self.conflicts -= 1;
            return Some(status(conflict, "Conflict", "modified"));
        }
        let sent = object.metadata();
        let present = self.objects.get(sent.name.as_deref().unwrap_or(name)).map(T::metadata);
        match (method, present) {
            (&Method::POST, Some(_)) => Some(status(conflict, "AlreadyExists", "already exists")),
            (&Method::POST, None) if self.terminating => Some(namespace_terminating()),
            (&Method::PUT, None) => Some(status(StatusCode::NOT_FOUND, "NotFound", "not found")),
            (&Method::PUT, Some(present)) if !agrees(sent.resource_version.as_ref(), present) => {
                Some(status(conflict, "Conflict", "the object has been modified"))
            }
            _ => None,
        }
    }

    /// Services can only be looked up by name, with a list of one.
    fn look_up_service(&mut self, name: &str) -> Response<Body> {
        self.service_lookups.push(name.to_owned());
        if let Some(refusal) = self.refused() {
            return refusal;
        }
        let found = self.services.get(name).map(|name| json!({"metadata": {"name": name}}));
        let items: Vec<Value> = found.into_iter().collect();
        answer_json(
            StatusCode::OK,
            &json!({"apiVersion": "v1", "kind": "ServiceList", "metadata": {}, "items": items}),
        )
    }

    /// A delete must name the uid of the object as a precondition.
    fn delete(&mut self, name: &str, options: &Value) -> Response<Body> {
        if let Some(refusal) = self.refused() {
            return refusal;
        }
        let Some(present) = self.objects.get(name).map(T::metadata) else {
            return status(StatusCode::NOT_FOUND, "NotFound", "not found");
        };
        let precondition = |field: &str| options["preconditions"][field].as_str().map(ToOwned::to_owned);
        if precondition("uid") != present.uid || !agrees(precondition("resourceVersion").as_ref(), present) {
            return status(StatusCode::CONFLICT, "Conflict", "the precondition does not hold");
        }
        self.objects.remove(name);
        answer_json(StatusCode::OK, &json!({"kind": "Status", "status": "Success"}))
    }
}

/// The parts of an object whose changes count in its generation: labels, and all that is not metadata.
fn counted<T: Served>(object: &T) -> (Value, Value) {
    let mut object = serde_json::to_value(object).unwrap();
    let metadata = object["metadata"].take();
    (metadata["labels"].clone(), object)
}

/// True if a write names the present resourceVersion, or none.
fn agrees(named: Option<&String>, present: &ObjectMeta) -> bool {
    named.is_none_or(|named| present.resource_version.as_ref() == Some(named))
}

/// Delivers the watch event of an object to the cache.
pub(crate) fn emit<T: Served>(cache: &Cache, object: &T) {
    cache.upsert(read::<T::Cached>(&serde_json::to_value(object).unwrap()));
}

/// Answers a request. The watch event comes before the answer, as it may with a real API server.
pub(crate) async fn answer<T: Served>(
    server: &Mutex<Server<T>>,
    cache: &Cache,
    request: Request<Body>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let name = parts.uri.path().rsplit('/').next().unwrap().to_owned();
    if parts.uri.path().contains("/events") {
        let event: Value = serde_json::from_slice(&body).unwrap();
        server.lock().events.push(event.clone());
        return answer_json(StatusCode::OK, &event);
    }
    if parts.method == Method::GET {
        let selected =
            |query: &str| query.strip_prefix("fieldSelector=metadata.name=").map(ToOwned::to_owned);
        let service = parts.uri.query().and_then(selected).filter(|_| name == "services");
        return server.lock().look_up_service(&service.unwrap());
    }
    if parts.method == Method::DELETE {
        let options = serde_json::from_slice(&body).unwrap_or_default();
        let answer = {
            let mut server = server.lock();
            server.requests.push(format!("DELETE {name}"));
            server.delete(&name, &options)
        };
        if answer.status().is_success() && !server.lock().broken {
            cache.remove::<T::Cached>(NAMESPACE, &name);
        }
        return answer;
    }
    let object: T = serde_json::from_slice(&body).unwrap();
    let stored = {
        let mut server = server.lock();
        let metadata = object.metadata();
        let given = metadata.name.as_ref().or(metadata.generate_name.as_ref());
        let target = if parts.method == Method::POST { given.unwrap() } else { &name };
        server.requests.push(format!("{} {target}", parts.method));
        if let Some(refusal) = server.refusal(&parts.method, &object, &name) {
            return refusal;
        }
        let mut object = object;
        if let Some(webhook) = server.webhook {
            webhook(&mut object);
        }
        server.store(object, MANAGER)
    };
    let held = server.lock().held.as_mut().map(|held| held.push(stored.clone()));
    if held.is_none() && !server.lock().broken {
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
    answer_json(StatusCode::OK, &serde_json::to_value(&stored).unwrap())
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
