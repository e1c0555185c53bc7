//! `/debug/services`: which Services fail, or wait for the rate limit, and the state of a single one: its last error, what it
//! waits for, its next sync.
//!
//! It shows what the work queues know. A queue knows nothing about a key whose last sync succeeded, so that Services in
//! sync cost no memory.

mod report;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use cli_runtime::printing;
use component_server::Routes;
use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use endpoint_informers::cache::Cache;
use endpoint_informers::lifecycle::Phase;
use http::header::{ACCEPT, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, StatusCode, Uri};
use jiff::Timestamp;
use tokio::sync::watch;

use self::report::{ControllerSync, ServiceList, ServiceState, SyncState};

/// The path of the list; below it are the pages of single Services.
const PATH: &str = "/debug/services";

/// The most Services that the list names.
const MAX_LISTED: usize = 500;

/// The pages.
#[derive(Clone)]
pub(crate) struct ServicePages {
    /// Of the controllers, by their names.
    pub(crate) queues: Vec<(&'static str, WorkQueue<ObjectKey>)>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) phase: watch::Receiver<Phase>,
}

impl ServicePages {
    /// Adds the pages to those of the server.
    pub(crate) fn add_to(self, routes: Routes) -> Routes {
        let list: MethodRouter = {
            let pages = self.clone();
            any(move |headers: HeaderMap, uri: Uri| async move { pages.list_page(&headers, &uri) })
        };
        let one =
            any(move |Path((namespace, name)): Path<(String, String)>, headers: HeaderMap| async move {
                self.service_page(&ObjectKey::new(namespace, name), &headers)
            });
        routes.route(PATH, list).route(&format!("{PATH}/{{namespace}}/{{name}}"), one)
    }

    fn list_page(&self, headers: &HeaderMap, uri: &Uri) -> Response {
        // A misspelt filter must not look like one that nothing meets.
        let selected = match uri.query() {
            None | Some("" | "state=failing") => SyncState::Failing,
            Some("state=waiting") => SyncState::WaitingToWrite,
            Some(query) => {
                let text =
                    format!("unknown query {query:?}: state=failing and state=waiting are supported\n");
                return text_page(StatusCode::BAD_REQUEST, text);
            }
        };
        let list = self.list(selected);
        answer(headers, || list.text(), || printing::json(&list))
    }

    fn service_page(&self, key: &ObjectKey, headers: &HeaderMap) -> Response {
        if let Some(service) = self.service(key) {
            answer(headers, || service.text(), || printing::json(&service))
        } else {
            let name = key.to_string();
            let text = format!("Service {name:?} is not in the cache, and no controller has work for it\n");
            text_page(StatusCode::NOT_FOUND, text)
        }
    }

    /// The Services in a state, failing or waiting to write, in order; of each the controllers in which it is.
    fn list(&self, selected: SyncState) -> ServiceList {
        let queues = &self.queues;
        let waiting: Vec<_> = queues.iter().flat_map(|(_, queue)| queue.waiting_to_write()).collect();
        let mut counts = BTreeMap::new();
        for (_, urgency) in &waiting {
            *counts.entry(*urgency).or_default() += 1;
        }
        let mut keys: Vec<ObjectKey> = match selected {
            SyncState::WaitingToWrite => waiting.into_iter().map(|(key, _)| key).collect(),
            _ => queues.iter().flat_map(|(_, queue)| queue.failing()).collect(),
        };
        keys.sort_unstable();
        keys.dedup();
        let (total, now) = (keys.len(), Timestamp::now());
        keys.truncate(MAX_LISTED);
        let services = keys.iter().map(|key| ServiceState::of_state(key, selected, self.states(key, now)));
        // One whose state has changed meanwhile is left out.
        let services = services.filter(|service| !service.controllers.is_empty()).collect();
        ServiceList { leads: self.leads(), state: selected, total, services, waiting_to_write: counts }
    }

    /// The state of a Service in all controllers; none if nothing is known of such a Service.
    fn service(&self, key: &ObjectKey) -> Option<ServiceState> {
        let exists = self.cache.read(|state| state.services.get(&key.namespace, &key.name).is_some());
        let states: Vec<ControllerSync> = self.states(key, Timestamp::now()).collect();
        let has_work = states.iter().any(|of| of.state != SyncState::InSync);
        (exists || has_work).then(|| ServiceState::new(key, states).on_page(self.leads(), exists))
    }

    /// The state of a key in each controller.
    fn states(&self, key: &ObjectKey, now: Timestamp) -> impl Iterator<Item = ControllerSync> {
        let queues = self.queues.iter();
        queues.map(move |(controller, queue)| ControllerSync::of(controller, queue.key_state(key), now))
    }

    /// True if the controllers of this replica run.
    fn leads(&self) -> bool {
        *self.phase.borrow() == Phase::Running
    }
}

/// JSON if the client asks for it, else text.
fn answer(headers: &HeaderMap, text: impl FnOnce() -> String, json: impl FnOnce() -> String) -> Response {
    let accepts = headers.get_all(ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    if accepts.into_iter().any(|accept| accept.contains("application/json")) {
        let headers = [(CONTENT_TYPE, "application/json"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
        return (headers, json()).into_response();
    }
    text_page(StatusCode::OK, text())
}

fn text_page(status: StatusCode, text: String) -> Response {
    let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (status, headers, text).into_response()
}
