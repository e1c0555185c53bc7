//! The list-watches that fill the cache: each kind once, and only those that somebody needs.

use std::future::pending;
use std::sync::Arc;

use controller_runtime::api::ApiClient;
use controller_runtime::cache::{Cache, CachedEndpoints, CachedSlice, DelegatedService};
use controller_runtime::kinds::Kind;
use controller_runtime::list_watch::{ListWatch, ListWatchMetrics, Timing};
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Node, Pod, Service};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::controllers::Controller::{self, EndpointSlice, EndpointSliceMirroring, Endpoints};

/// All kinds in the cache.
pub(crate) struct Caches {
    pub(crate) kinds: Vec<Cached>,
    impatience: Arc<Notify>,
}

/// A kind in the cache.
pub(crate) struct Cached {
    pub(crate) resource: &'static str,
    /// Whether the cache has held everything.
    pub(crate) synced: watch::Receiver<bool>,
    /// Whether it follows what happens now.
    following: watch::Receiver<bool>,
}

/// Starts list-watches.
pub(crate) struct Watches<'a> {
    pub(crate) tasks: &'a mut JoinSet<String>,
    pub(crate) client: &'a ApiClient,
    pub(crate) cache: &'a Arc<Cache>,
    pub(crate) metrics: &'a ListWatchMetrics,
    /// Whether Services with the label [`ENDPOINT_CONTROLLER_NAME`] belong to other controllers.
    pub(crate) delegation: bool,
    /// Shared by all, to be told that the API server is back.
    pub(crate) impatience: Arc<Notify>,
}

impl Watches<'_> {
    /// Watches what these controllers need.
    pub(crate) fn start(mut self, controllers: &[Controller]) -> Caches {
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
        Caches { kinds, impatience: self.impatience }
    }

    fn watch_services(&mut self) -> Cached {
        let ours = self.list_watch::<Service>();
        let without_label = format!("!{ENDPOINT_CONTROLLER_NAME}");
        self.start_one(if self.delegation { ours.with_label_selector(&without_label) } else { ours })
    }

    fn watch<K: Kind>(&mut self) -> Cached {
        let list_watch = self.list_watch::<K>();
        self.start_one(list_watch)
    }

    fn list_watch<K: Kind>(&self) -> ListWatch<K> {
        let (client, cache) = (self.client.clone(), Arc::clone(self.cache));
        let list_watch = ListWatch::new(client, cache, Timing::default()).with_metrics(self.metrics);
        list_watch.with_impatience(Arc::clone(&self.impatience))
    }

    fn start_one<K: Kind>(&mut self, list_watch: ListWatch<K>) -> Cached {
        let (synced, following) = (list_watch.synced(), list_watch.following());
        self.tasks.spawn(async move {
            list_watch.run().await;
            format!("the watch of {} ended", K::RESOURCE)
        });
        Cached { resource: K::RESOURCE, synced, following }
    }
}

impl Caches {
    /// Waits until all hold everything.
    pub(crate) async fn synced(&self) {
        for kind in &self.kinds {
            becomes_true(&kind.synced).await;
        }
    }

    /// Waits until all follow an API server that was just heard of.
    pub(crate) async fn catch_up(&self) {
        self.impatience.notify_waiters();
        while let Some(kind) = self.kinds.iter().find(|kind| !*kind.following.borrow()) {
            becomes_true(&kind.following).await;
        }
    }
}

async fn becomes_true(flag: &watch::Receiver<bool>) {
    // The sender lives as long as its list-watch. Should that end, so does the process, and nothing more may begin.
    if flag.clone().wait_for(|flag| *flag).await.is_err() {
        pending().await
    }
}
