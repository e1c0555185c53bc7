//! The list-watches of a process.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

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
    /// Counts how often a new list of every kind was wished for.
    wishes: watch::Sender<u64>,
}

/// A kind in the cache.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Its plural name.
    pub resource: &'static str,
    synced: watch::Receiver<bool>,
    listed: watch::Receiver<u64>,
}

/// The cache may lack what the API server holds.
#[derive(Debug, thiserror::Error)]
#[error("no complete list of {} within {limit:?}", .resources.join(", "))]
pub struct Behind {
    /// The plural names of the kinds.
    pub resources: Vec<&'static str>,
    /// For how long they were waited for.
    pub limit: Duration,
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
        let list_watch = list_watch.with_wishes(self.caches.wishes.subscribe());
        match &self.metrics {
            Some(metrics) => list_watch.with_metrics(metrics),
            None => list_watch,
        }
    }

    /// Lets a list-watch begin.
    pub fn start<K: Kind>(&mut self, list_watch: ListWatch<K>) {
        let (synced, listed) = (list_watch.synced(), list_watch.listed());
        self.caches.kinds.push(Cached { resource: K::RESOURCE, synced, listed });
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
            reaches(&kind.synced, true).await;
        }
    }

    /// Waits until the cache has held everything that the API server holds now, for at most `limit`.
    ///
    /// A new leader needs this before it writes: its watches may be behind the last leader's writes, or their connections
    /// may be dead, without anybody knowing; it would make slices a second time. The cost is one list per kind, which ends
    /// whatever the list-watches are doing.
    ///
    /// # Errors
    ///
    /// Names the kinds whose list did not end in time. The list-watches go on.
    pub async fn catch_up(&self, limit: Duration) -> Result<(), Behind> {
        let mut wish = 0;
        self.wishes.send_modify(|wishes| {
            *wishes += 1;
            wish = *wishes;
        });
        let listed = async {
            for kind in &self.kinds {
                reaches(&kind.listed, wish).await;
            }
        };
        timeout(limit, listed).await.map_err(|_| {
            let behind = self.kinds.iter().filter(|kind| *kind.listed.borrow() < wish);
            Behind { resources: behind.map(|kind| kind.resource).collect(), limit }
        })
    }
}

impl Cached {
    /// Whether the cache has held everything.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }
}

async fn reaches<T: PartialOrd>(value: &watch::Receiver<T>, goal: T) {
    // The sender lives as long as its list-watch, whose end is told elsewhere. Nothing more may begin then.
    if value.clone().wait_for(|value| *value >= goal).await.is_err() {
        pending().await
    }
}
