//! What the API server does with writes.

use std::collections::BTreeMap;

use controller_runtime::cache::{Cache, CachedSlice};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{LIVE, NAMESPACE, read};

/// The objects, and how the next requests are met.
#[derive(Default)]
pub(crate) struct Server {
    pub(crate) slices: BTreeMap<String, EndpointSlice>,
    pub(crate) requests: Vec<String>,
    pub(crate) events: Vec<(String, String)>,
    /// So many writes are refused.
    pub(crate) refuse: usize,
    /// So many writes meet a conflict.
    pub(crate) conflicts: usize,
    /// Watch events that wait, if they are held back.
    pub(crate) held: Option<Vec<EndpointSlice>>,
    version: u64,
    created: usize,
}

impl Server {
    /// What the API server adds to an object.
    pub(crate) fn store(&mut self, mut slice: EndpointSlice) -> EndpointSlice {
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

    /// The answer to a write that is not accepted, if it isn't.
    fn refusal(&mut self, method: &Method, slice: &EndpointSlice, name: &str) -> Option<Response<Body>> {
        let (forbidden, conflict) = (StatusCode::FORBIDDEN, StatusCode::CONFLICT);
        if self.refuse > 0 {
            self.refuse -= 1;
            return Some(status(forbidden, "Forbidden", "exceeded quota"));
        }
        if self.conflicts > 0 {
            self.conflicts -= 1;
            return Some(status(conflict, "Conflict", "modified"));
        }
        let name = slice.metadata.name.as_deref().unwrap_or(name);
        let exists = self.slices.contains_key(name);
        match *method {
            Method::POST if exists => Some(status(conflict, "AlreadyExists", "already exists")),
            Method::PUT if !exists => Some(status(StatusCode::NOT_FOUND, "NotFound", "not found")),
            _ => None,
        }
    }

    /// This server insists on the uid of what is to be deleted.
    fn delete(&mut self, name: &str, options: &Value) -> Response<Body> {
        let Some(present) = self.slices.get(name) else {
            return status(StatusCode::NOT_FOUND, "NotFound", "not found");
        };
        if options["preconditions"]["uid"].as_str() != present.metadata.uid.as_deref() {
            return status(StatusCode::CONFLICT, "Conflict", "the uid in the precondition does not match");
        }
        self.slices.remove(name);
        answer_json(StatusCode::OK, &json!({"kind": "Status", "status": "Success"}))
    }
}

/// Puts a slice into the cache, as its watch event does.
pub(crate) fn emit(cache: &Cache, slice: &EndpointSlice) {
    cache.upsert(read::<CachedSlice>(&serde_json::to_value(slice).unwrap()), LIVE);
}

/// The event comes before the answer, as it may in life.
pub(crate) async fn answer(server: &Mutex<Server>, cache: &Cache, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let name = parts.uri.path().rsplit('/').next().unwrap().to_owned();
    if parts.uri.path().contains("/events") {
        let event: Value = serde_json::from_slice(&body).unwrap();
        let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
        server.lock().events.push((text("reason"), text("message")));
        return answer_json(StatusCode::OK, &event);
    }
    if parts.method == Method::DELETE {
        let options = serde_json::from_slice(&body).unwrap_or_default();
        let answer = {
            let mut server = server.lock();
            server.requests.push(format!("DELETE {name}"));
            server.delete(&name, &options)
        };
        if answer.status().is_success() {
            cache.remove::<CachedSlice>(NAMESPACE, &name, LIVE);
        }
        return answer;
    }
    let slice: EndpointSlice = serde_json::from_slice(&body).unwrap();
    let stored = {
        let mut server = server.lock();
        let generated = slice.metadata.generate_name.clone().filter(|_| slice.metadata.name.is_none());
        let shown = if parts.method == Method::POST { generated.unwrap_or_default() } else { name.clone() };
        server.requests.push(format!("{} {shown}", parts.method));
        if let Some(refusal) = server.refusal(&parts.method, &slice, &name) {
            return refusal;
        }
        server.store(slice)
    };
    let held = server.lock().held.as_mut().map(|held| held.push(stored.clone()));
    if held.is_none() {
        emit(cache, &stored);
    }
    tokio::task::yield_now().await;
    answer_json(StatusCode::OK, &serde_json::to_value(&stored).unwrap())
}

fn status(code: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let status = json!({"kind": "Status", "code": code.as_u16(), "reason": reason, "message": message});
    answer_json(code, &status)
}

fn answer_json(status: StatusCode, value: &Value) -> Response<Body> {
    let response = Response::builder().status(status).header(http::header::CONTENT_TYPE, "application/json");
    response.body(Body::from(value.to_string().into_bytes())).unwrap()
}
