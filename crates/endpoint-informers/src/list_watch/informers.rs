//! The informers of a process.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;

use controller_kit::environment::spawn_in;
use kube_api::ApiClient;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tracing::warn;

use super::list_watch::ListWatch;
use super::metrics::ListWatchMetrics;
use super::relist::Caches;
use super::timing::Timing;
use crate::cache::Cache;
use crate::state::CachedResource;

/// List-watches that fill one cache, and run until this is dropped.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use endpoint_informers::cache::Cache;
/// use endpoint_informers::list_watch::Informers;
/// use endpointslice::{Pod, Service};
/// use kube_api::ApiClient;
///
/// # async fn example(client: ApiClient) {
/// let cache = Arc::new(Cache::default());
/// let mut informers = Informers::new(client, Arc::clone(&cache));
/// informers.start(informers.of::<Pod>());
/// informers.start(informers.of::<Service>().with_label_selector("team=shop"));
/// informers.caches().synced().await;
/// # }
/// ```
pub struct Informers {
    client: ApiClient,
    cache: Arc<Cache>,
    metrics: Option<ListWatchMetrics>,
    tasks: JoinSet<&'static str>,
    caches: Caches,
    /// The selectors of each kind that was started.
    started: HashMap<TypeId, String>,
}

impl Informers {
    /// Informers that fill this cache; none is started.
    pub fn new(client: ApiClient, cache: Arc<Cache>) -> Self {
        let (tasks, caches, started) = Default::default();
        Self { client, cache, metrics: None, tasks, caches, started }
    }

    /// Exposes the metrics of the list-watches that are started from now on.
    #[must_use]
    pub fn with_metrics(self, metrics: ListWatchMetrics) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// A list-watch of all objects of a kind, to be narrowed down and [started](Self::start).
    pub fn of<K: CachedResource>(&self) -> ListWatch<K> {
        let list_watch = ListWatch::new(self.client.clone(), Arc::clone(&self.cache), Timing::default());
        let list_watch = self.caches.connect(list_watch);
        match &self.metrics {
            Some(metrics) => list_watch.with_metrics(metrics),
            None => list_watch,
        }
    }

    /// Starts a list-watch. A kind is listed and watched once, as it was started first: each of two list-watches would take what
    /// the list of the other brought for deleted. Another start does nothing, and warns if its selectors are others.
    pub fn start<K: CachedResource>(&mut self, list_watch: ListWatch<K>) {
        let selectors = list_watch.selectors();
        if let Some(first) = self.started.get(&TypeId::of::<K>()) {
            if *first != selectors {
                warn!(resource = K::RESOURCE, started = %first, ignored = %selectors, "A kind is watched with other selectors");
            }
            return;
        }
        self.started.insert(TypeId::of::<K>(), selectors);
        self.caches.add(&list_watch);
        let list_watch = async {
            list_watch.run().await;
            K::RESOURCE
        };
        spawn_in(&mut self.tasks, &Handle::current(), list_watch);
    }

    /// Starts what applies the cache's [policy about disruptions](Cache::with_disruption_policy).
    pub fn follow_disruptions(&mut self) {
        let cache = Arc::clone(&self.cache);
        self.caches.follow_disruptions(Arc::clone(&cache));
        let follow = async move { match cache.follow_disruptions().await {} };
        spawn_in(&mut self.tasks, &Handle::current(), follow);
    }

    /// The state of the list-watches started so far.
    pub fn caches(&self) -> Caches {
        self.caches.clone()
    }

    /// Waits until a list-watch has ended, which only a bug can cause, and returns a message about it.
    pub async fn ended(&mut self) -> String {
        match self.tasks.join_next().await {
            Some(Ok(resource)) => format!("the list-watch of {resource} has ended"),
            Some(Err(error)) => format!("a list-watch has ended: {error}"),
            None => "no list-watch was started".to_owned(),
        }
    }
}
