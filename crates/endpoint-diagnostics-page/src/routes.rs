//! The paths of the server.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use controller_kit::key::ObjectKey;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, StatusCode, Uri};
use serde::Serialize;
use serde_json::json;
use tokio::sync::{Semaphore, watch};

use crate::assets::ASSETS;
use crate::source::Source;
use crate::{access, events, headers};

/// Clients that may follow the changes at the same time.
const FOLLOWERS: usize = 32;

/// The things that handlers share.
struct Shared<S> {
    source: Arc<S>,
    followers: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self {
            source: Arc::clone(&self.source),
            followers: Arc::clone(&self.followers),
            stopping: self.stopping.clone(),
        }
    }
}

/// The handlers of a page, whose data needs the token. Streams of events end when `stopping` becomes true.
pub(crate) fn router<S: Source>(source: Arc<S>, token: &str, stopping: watch::Receiver<bool>) -> Router {
    let mut router = Router::new()
        .route("/api/services", get(services))
        .route("/api/services/{namespace}/{name}", get(service))
        .route("/api/events", get(follow))
        .with_state(Shared { source, followers: Arc::new(Semaphore::new(FOLLOWERS)), stopping });
    for asset in ASSETS {
        let handler = move || async move { (asset.headers(), asset.text) };
        router = router.route(asset.path, get(handler));
    }
    router.layer(middleware::from_fn_with_state(Arc::from(token), guard))
}

async fn guard(State(token): State<Arc<str>>, request: Request<Body>, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = match access::check(&parts, &token) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => refusal.into_response(),
    };
    headers::add(response.headers_mut());
    response
}

async fn services<S: Source>(State(shared): State<Shared<S>>) -> Response {
    json(StatusCode::OK, &shared.source.board().list())
}

async fn service<S: Source>(
    State(shared): State<Shared<S>>,
    Path((namespace, name)): Path<(String, String)>,
) -> Response {
    let report = shared.source.report(&ObjectKey::new(namespace.as_str(), name.as_str()));
    report.map_or_else(
        || {
            let error = format!("There is no Service {namespace}/{name}.");
            json(StatusCode::NOT_FOUND, &json!({ "error": error }))
        },
        |report| json(StatusCode::OK, &report),
    )
}

/// The events after the cursor in Last-Event-ID, which clients of server-sent events send when they connect again, else after
/// the one in the query.
async fn follow<S: Source>(State(shared): State<Shared<S>>, uri: Uri, headers: HeaderMap) -> Response {
    let Ok(slot) = shared.followers.try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "10")], "Too many clients.").into_response();
    };
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let first = uri.query().and_then(|query| query.strip_prefix("after="));
    let cursor = last.or(first).and_then(|cursor| cursor.parse().ok());
    events::after(shared.source, cursor, shared.stopping, slot).into_response()
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => (status, [(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests;
