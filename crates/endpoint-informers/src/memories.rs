//! What controllers keep of a Service between its syncs.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use kube_api::time::{Instant, sleep};
use parking_lot::Mutex;

/// The fewest pods of a Service that is remembered. With fewer, looking at all of them takes less than a request.
const MIN_PODS: usize = 100;
/// The time after which a memory that is not used is dropped.
const MAX_IDLE: Duration = Duration::from_secs(60);

/// Memories of the last syncs, by Service: of those with many pods that were synced within the last two minutes.
#[derive(Debug)]
pub struct Memories<M>(Mutex<HashMap<ObjectKey, (Instant, M)>>);

impl<M> Default for Memories<M> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<M> Memories<M> {
    /// Keeps the memory of a sync of a Service with this number of pods, if they are many.
    pub fn keep(&self, key: &ObjectKey, pods: usize, memory: M) {
        if pods >= MIN_PODS {
            self.0.lock().insert(key.clone(), (Instant::now(), memory));
        }
    }

    /// Takes the memory of the last sync.
    pub fn take(&self, key: &ObjectKey) -> Option<M> {
        self.0.lock().remove(key).map(|(_, memory)| memory)
    }

    /// Drops memories that have not been used for a minute. Never ends.
    pub async fn forget_idle(&self) -> Infallible {
        loop {
            sleep(MAX_IDLE).await;
            let now = Instant::now();
            let mut memories = self.0.lock();
            memories.retain(|_, (used, _)| now.duration_since(*used) < MAX_IDLE);
            memories.shrink_to_fit();
        }
    }
}
