//! The list-watches that fill the cache: each kind once, and only those that somebody needs.

use std::sync::Arc;

use controller_runtime::api::ApiClient;
use controller_runtime::cache::{Cache, CachedEndpoints, CachedSlice};
use controller_runtime::kinds::Kind;
use controller_runtime::list_watch::{ListWatch, ListWatchMetrics, Timing};
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
}

impl Watches<'_> {
    /// Watches what these controllers need.
    pub(crate) fn start(mut self, controllers: &[Controller]) -> Vec<Synced> {
        let needed_by = |users: &[Controller]| users.iter().any(|user| controllers.contains(user));
        let mut kinds = vec![self.watch::<Service>()];
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

    fn watch<K: Kind>(&mut self) -> Synced {
        let list_watch = ListWatch::<K>::new(self.client.clone(), Arc::clone(self.cache), Timing::default());
        let list_watch = list_watch.with_metrics(self.metrics);
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
