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
use http::request::Parts;
use http::{HeaderMap, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{Semaphore, watch};

use crate::access::Refusal;
use crate::assets::ASSETS;
use crate::follow::Follower;
use crate::{access, events, headers, query};

/// Clients that may follow the changes at the same time.
const FOLLOWERS: usize = 32;

/// Answers about single Services, times and searches that are computed at the same time. A source computes one after the other.
const ANSWERS: usize = 4;

/// A response, or the status of a failure here.
type Answer = Result<Response, StatusCode>;

/// The Service in a path, by the names of the parameters: a path of the server before this one may have more of them.
#[derive(Deserialize)]
struct Named {
    namespace: String,
    name: String,
}

/// The things that handlers share.
#[derive(Clone)]
struct Shared {
    source: Arc<Follower>,
    followers: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

/// The page for one user. Streams of events end when `stopping` becomes true.
///
/// Data is for clients with the token. A browser has it from the address of the page: `http://ADDRESS/#token=TOKEN`, where it
/// consists of hexadecimal digits.
pub fn router(source: Arc<Follower>, token: &str, stopping: watch::Receiver<bool>) -> Router {
    handlers("", source, stopping).layer(middleware::from_fn_with_state(Arc::from(token), guard))
}

/// The handlers of a page below a path, behind a server that knows its users.
pub(crate) fn shared_router(prefix: &str, source: Arc<Follower>, stopping: watch::Receiver<bool>) -> Router {
    handlers(prefix, source, stopping).layer(middleware::from_fn(guard_site))
}

fn handlers(prefix: &str, source: Arc<Follower>, stopping: watch::Receiver<bool>) -> Router {
    let path = |path: &str| format!("{prefix}{path}");
    let [followers, answers] = [FOLLOWERS, ANSWERS].map(|number| Arc::new(Semaphore::new(number)));
    let mut router = Router::new()
        .route(&path("/api/services"), get(services))
        .route(&path("/api/services/{namespace}/{name}"), get(service))
        .route(&path("/api/services/{namespace}/{name}/view"), get(view))
        .route(&path("/api/timeline"), get(timeline))
        .route(&path("/api/search"), get(search))
        .route(&path("/api/events"), get(follow))
        .with_state(Shared { source, followers, answers, stopping });
    for asset in ASSETS {
        let handler = move || async move { (asset.headers(), asset.text) };
        router = router.route(&path(asset.path), get(handler));
    }
    router
}

async fn guard(State(token): State<Arc<str>>, request: Request<Body>, next: Next) -> Response {
    checked(|parts| access::check(parts, &token), request, next).await
}

async fn guard_site(request: Request<Body>, next: Next) -> Response {
    checked(access::check_site, request, next).await
}

async fn checked(
    check: impl FnOnce(&Parts) -> Result<(), Refusal>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = match check(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => refusal.into_response(),
    };
    headers::add(response.headers_mut());
    response
}

async fn services(State(shared): State<Shared>) -> Response {
    json(StatusCode::OK, &shared.source.board().list())
}

async fn service(state: State<Shared>, path: Path<Named>) -> Answer {
    of_service(state, path, Follower::report).await
}

async fn view(state: State<Shared>, path: Path<Named>) -> Answer {
    of_service(state, path, Follower::view).await
}

async fn of_service<T: Serialize + Send + 'static>(
    State(shared): State<Shared>,
    Path(Named { namespace, name }): Path<Named>,
    read: fn(&Follower, &ObjectKey) -> Option<T>,
) -> Answer {
    let key = ObjectKey::new(namespace.as_str(), name.as_str());
    let found = off_the_runtime(&shared, move |source| read(source, &key)).await?;
    let absent = || {
        let error = format!("There is no Service {namespace}/{name}.");
        json(StatusCode::NOT_FOUND, &json!({ "error": error }))
    };
    Ok(found.map_or_else(absent, |found| json(StatusCode::OK, &found)))
}

async fn timeline(State(shared): State<Shared>, uri: Uri) -> Answer {
    let Some(span) = query::span(uri.query().unwrap_or_default()) else {
        let error = "since and until must be milliseconds since the epoch";
        return Ok(json(StatusCode::BAD_REQUEST, &json!({ "error": error })));
    };
    let timeline = off_the_runtime(&shared, move |source| source.timeline(&span)).await?;
    Ok(json(StatusCode::OK, &timeline))
}

async fn search(State(shared): State<Shared>, uri: Uri) -> Answer {
    let text = query::value(uri.query().unwrap_or_default(), "q").unwrap_or_default();
    let found = off_the_runtime(&shared, move |source| source.search(&text)).await?;
    Ok(json(StatusCode::OK, &found))
}

/// Answers about thousands of objects take longer than other requests may wait. A request whose client is gone waits no more; its
/// work, once begun, holds its place to the end. Fails if the work panicked.
async fn off_the_runtime<T: Send + 'static>(
    shared: &Shared,
    work: impl FnOnce(&Follower) -> T + Send + 'static,
) -> Result<T, StatusCode> {
    let place =
        Arc::clone(&shared.answers).acquire_owned().await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let source = Arc::clone(&shared.source);
    let work = move || {
        let answer = work(&source);
        drop(place);
        answer
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

/// The events after the cursor in Last-Event-ID, which clients of server-sent events send when they connect again, else after
/// the one in the query.
async fn follow(State(shared): State<Shared>, uri: Uri, headers: HeaderMap) -> Response {
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
