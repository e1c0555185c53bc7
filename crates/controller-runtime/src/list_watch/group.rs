//! The list-watches of a process.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{ListWatch, Timing};
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
/// watches.synced().await;
/// # }
/// ```
pub struct ListWatches {
    client: ApiClient,
    cache: Arc<Cache>,
    tasks: JoinSet<&'static str>,
    synced: Vec<watch::Receiver<bool>>,
}

impl ListWatches {
    /// None yet.
    pub fn new(client: ApiClient, cache: Arc<Cache>) -> Self {
        Self { client, cache, tasks: JoinSet::new(), synced: Vec::new() }
    }

    /// A list-watch of all objects of a kind, to be narrowed down and [started](Self::start).
    pub fn of<K: Kind>(&self) -> ListWatch<K> {
        ListWatch::new(self.client.clone(), Arc::clone(&self.cache), Timing::default())
    }

    /// Lets a list-watch begin.
    pub fn start<K: Kind>(&mut self, list_watch: ListWatch<K>) {
        self.synced.push(list_watch.synced());
        self.tasks.spawn(async {
            list_watch.run().await;
            K::RESOURCE
        });
    }

    /// Waits until the cache holds everything that the server held.
    pub async fn synced(&self) {
        for synced in &self.synced {
            // The sender lives as long as its list-watch, whose end is told elsewhere.
            let _ = synced.clone().wait_for(|synced| *synced).await;
        }
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
