//! The list-watches that fill the cache: each kind once, and only those that somebody needs.

use std::sync::Arc;

use controller_runtime::api::ApiClient;
use controller_runtime::cache::{Cache, CachedEndpoints, CachedSlice, DelegatedService};
use controller_runtime::kinds::Kind;
use controller_runtime::list_watch::{ListWatch, ListWatchMetrics, Timing};
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Node, Pod, Service};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::controllers::Controller::{self, EndpointSlice, EndpointSliceMirroring, Endpoints};

/// A kind, and whether the cache holds what the API server holds of it.
pub(crate) type Synced = (&'static str, watch::Receiver<bool>);

/// Starts list-watches.
pub(crate) struct Watches<'a> {
    pub(crate) tasks: &'a mut JoinSet<String>,
    pub(crate) client: &'a ApiClient,
    pub(crate) cache: &'a Arc<Cache>,
    pub(crate) metrics: &'a ListWatchMetrics,
    /// Whether Services with the label [`ENDPOINT_CONTROLLER_NAME`] belong to other controllers.
    pub(crate) delegation: bool,
}

impl Watches<'_> {
    /// Watches what these controllers need.
    pub(crate) fn start(mut self, controllers: &[Controller]) -> Vec<Synced> {
        let needed_by = |users: &[Controller]| users.iter().any(|user| controllers.contains(user));
        let mut kinds = vec![self.watch_services()];
        // The mirroring controller removes what it made of a Service that isn't there, wherever it is.
        if self.delegation && needed_by(&[Endpoints, EndpointSlice]) {
            let delegated = self.list_watch::<DelegatedService>();
            kinds.push(self.start_one(delegated.with_label_selector(ENDPOINT_CONTROLLER_NAME)));
        }
        if needed_by(&[EndpointSlice]) {
            kinds.push(self.watch::<Node>());
        }
        if needed_by(&[EndpointSlice, EndpointSliceMirroring]) {
            kinds.push(self.watch::<CachedSlice>());
        }
        if needed_by(&[Endpoints, EndpointSliceMirroring]) {
            kinds.push(self.watch::<CachedEndpoints>());
        }
        if needed_by(&[Endpoints, EndpointSlice]) {
            kinds.push(self.watch::<Pod>());
        }
        kinds
    }

    fn watch_services(&mut self) -> Synced {
        let ours = self.list_watch::<Service>();
        let without_label = format!("!{ENDPOINT_CONTROLLER_NAME}");
        self.start_one(if self.delegation { ours.with_label_selector(&without_label) } else { ours })
    }

    fn watch<K: Kind>(&mut self) -> Synced {
        let list_watch = self.list_watch::<K>();
        self.start_one(list_watch)
    }

    fn list_watch<K: Kind>(&self) -> ListWatch<K> {
        let (client, cache) = (self.client.clone(), Arc::clone(self.cache));
        ListWatch::new(client, cache, Timing::default()).with_metrics(self.metrics)
    }

    fn start_one<K: Kind>(&mut self, list_watch: ListWatch<K>) -> Synced {
        let synced = list_watch.synced();
        self.tasks.spawn(async move {
            list_watch.run().await;
            format!("the watch of {} ended", K::RESOURCE)
        });
        (K::RESOURCE, synced)
    }
}

/// Waits until the cache holds everything.
pub(crate) async fn all_synced(kinds: &[Synced]) {
    for (_, synced) in kinds {
        // The sender lives as long as its list-watch, whose end is noticed elsewhere.
        let _ = synced.clone().wait_for(|synced| *synced).await;
    }
}
