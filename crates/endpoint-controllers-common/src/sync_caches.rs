//! Sync caches that controllers keep of a Service between its syncs.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use kube_api::time::{Instant, sleep};
use parking_lot::Mutex;

/// The default of the fewest pods of a Service that has a sync cache. With fewer, looking at all of them takes less than a
/// request.
pub const MIN_PODS: usize = 100;
/// The time after which a sync cache that is not used is dropped.
const MAX_IDLE: Duration = Duration::from_secs(60);

/// Sync caches of the last syncs, by Service: of those with many pods that were synced within the last two minutes.
#[derive(Debug)]
pub struct SyncCaches<M> {
    min_pods: usize,
    by_service: Mutex<HashMap<ObjectKey, (Instant, M)>>,
}

impl<M> SyncCaches<M> {
    /// Sync caches of Services with at least this number of pods ([`MIN_PODS`] but in tests).
    pub fn new(min_pods: usize) -> Self {
        Self { min_pods, by_service: Mutex::default() }
    }

    /// Keeps the sync cache of a sync of a Service with this number of pods, if they are many.
    pub fn keep(&self, key: &ObjectKey, pods: usize, sync_cache: M) {
        if pods >= self.min_pods {
            self.by_service.lock().insert(key.clone(), (Instant::now(), sync_cache));
        }
    }

    /// Takes the sync cache of the last sync.
    pub fn take(&self, key: &ObjectKey) -> Option<M> {
        self.by_service.lock().remove(key).map(|(_, sync_cache)| sync_cache)
    }

    /// The Services with a sync cache.
    pub fn services(&self) -> Vec<ObjectKey> {
        self.by_service.lock().keys().cloned().collect()
    }

    /// Takes the sync caches that have not been used for a minute: the caller drops them, which takes long for many pods, while
    /// others use the table.
    fn take_idle(&self, now: Instant) -> Vec<M> {
        let mut sync_caches = self.by_service.lock();
        let idle = sync_caches.extract_if(|_, (used, _)| now.duration_since(*used) >= MAX_IDLE);
        let idle = idle.map(|(_, (_, sync_cache))| sync_cache).collect();
        sync_caches.shrink_to_fit();
        idle
    }

    /// Drops sync caches that have not been used for a minute. Never ends.
    pub async fn forget_idle(&self) -> Infallible {
        loop {
            sleep(MAX_IDLE).await;
            drop(self.take_idle(Instant::now()));
        }
    }
}
