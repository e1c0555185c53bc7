//! The list-watches of a process.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::{ListWatch, ListWatchMetrics, Timing};
use crate::api::ApiClient;
use crate::cache::Cache;
use crate::kinds::Kind;

/// List-watches that fill one cache, and run until this is dropped.
///
/// ```no_run
/// use std::sync::Arc;
/// use controller_runtime::{api::ApiClient, cache::Cache, list_watch::ListWatches};
/// use endpointslice::{Pod, Service};
///
/// # async fn example(client: ApiClient) {
/// let cache = Arc::new(Cache::default());
/// let mut watches = ListWatches::new(client, Arc::clone(&cache));
/// watches.start(watches.of::<Pod>());
/// watches.start(watches.of::<Service>().with_label_selector("team=shop"));
/// watches.caches().synced().await;
/// # }
/// ```
pub struct ListWatches {
    client: ApiClient,
    cache: Arc<Cache>,
    metrics: Option<ListWatchMetrics>,
    tasks: JoinSet<&'static str>,
    caches: Caches,
}

/// What list-watches have achieved. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Caches {
    kinds: Vec<Cached>,
    /// Shared by all list-watches, to be told that the API server is back.
    impatience: Arc<Notify>,
}

/// A kind in the cache.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Its plural name.
    pub resource: &'static str,
    synced: watch::Receiver<bool>,
    following: watch::Receiver<bool>,
}

impl ListWatches {
    /// None yet.
    pub fn new(client: ApiClient, cache: Arc<Cache>) -> Self {
        Self { client, cache, metrics: None, tasks: JoinSet::new(), caches: Caches::default() }
    }

    /// With metrics of those that are started from now on.
    #[must_use]
    pub fn with_metrics(self, metrics: ListWatchMetrics) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// A list-watch of all objects of a kind, to be narrowed down and [started](Self::start).
    pub fn of<K: Kind>(&self) -> ListWatch<K> {
        let list_watch = ListWatch::new(self.client.clone(), Arc::clone(&self.cache), Timing::default());
        let list_watch = list_watch.with_impatience(Arc::clone(&self.caches.impatience));
        match &self.metrics {
            Some(metrics) => list_watch.with_metrics(metrics),
            None => list_watch,
        }
    }

    /// Lets a list-watch begin.
    pub fn start<K: Kind>(&mut self, list_watch: ListWatch<K>) {
        let (synced, following) = (list_watch.synced(), list_watch.following());
        self.caches.kinds.push(Cached { resource: K::RESOURCE, synced, following });
        self.tasks.spawn(async {
            list_watch.run().await;
            K::RESOURCE
        });
    }

    /// What those started so far have achieved.
    pub fn caches(&self) -> Caches {
        self.caches.clone()
    }

    /// Waits until one has ended, which only a bug can bring about, and says which or how.
    pub async fn ended(&mut self) -> String {
        match self.tasks.join_next().await {
            Some(Ok(resource)) => format!("the list-watch of {resource} has ended"),
            Some(Err(error)) => format!("a list-watch has ended: {error}"),
            None => "there are no list-watches".to_owned(),
        }
    }
}

impl Caches {
    /// Each kind.
    pub fn kinds(&self) -> &[Cached] {
        &self.kinds
    }

    /// Waits until the cache holds everything that the server held.
    pub async fn synced(&self) {
        for kind in &self.kinds {
            becomes_true(&kind.synced).await;
        }
    }

    /// Waits until the cache follows an API server that was just heard of. List-watches that wait for another try make
    /// it at once.
    ///
    /// A new leader needs this before it writes: after an outage the Lease may come before the changes that were missed,
    /// such as the last leader's writes.
    pub async fn catch_up(&self) {
        self.impatience.notify_waiters();
        // One that follows may lose the server while another is waited for.
        while let Some(kind) = self.kinds.iter().find(|kind| !*kind.following.borrow()) {
            becomes_true(&kind.following).await;
        }
    }
}

impl Cached {
    /// Whether the cache has held everything.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }
}

async fn becomes_true(flag: &watch::Receiver<bool>) {
    // The sender lives as long as its list-watch, whose end is told elsewhere. Nothing more may begin then.
    if flag.clone().wait_for(|flag| *flag).await.is_err() {
        pending().await
    }
}
