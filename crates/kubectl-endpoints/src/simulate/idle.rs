//! Waits until controllers are idle.

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use endpoint_informers::list_watch::{Caches, RelistTimeout};
use kube_api::time::Instant;

/// Failures in a row after which a key is not waited for.
const PATIENCE: u32 = 3;

/// The queues of controllers and the cache they share, to wait until all changes are handled. For an API server that no other
/// client changes.
#[derive(Clone, Debug)]
pub(crate) struct Idle {
    caches: Caches,
    queues: Vec<(&'static str, WorkQueue<ObjectKey>)>,
}

/// A key whose syncs keep failing, although nothing changes any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Failing {
    /// The name of the controller.
    pub(crate) controller: &'static str,
    /// The key.
    pub(crate) key: ObjectKey,
}

impl Idle {
    pub(crate) fn new(caches: Caches, queues: Vec<(&'static str, WorkQueue<ObjectKey>)>) -> Self {
        Self { caches, queues }
    }

    /// Waits until the controllers run, their queues are empty, delayed keys included, no sync is under way, and the cache
    /// holds everything that the controllers wrote. Returns the keys that failed at least three times in a row and are
    /// retried for ever.
    ///
    /// Changes that other clients made to other kinds than controllers write
    /// ([`Resource::WRITTEN`](endpoint_informers::resource::Resource::WRITTEN)) may still be on their way.
    ///
    /// Cost: one list of each kind that controllers write, more if it brings news.
    ///
    /// # Errors
    ///
    /// As for [`Caches::relist_and_wait`].
    pub(crate) async fn reached(&self) -> Result<Vec<Failing>, RelistTimeout> {
        loop {
            for (_, queue) in &self.queues {
                queue.idle(PATIENCE).await;
            }
            let before = self.activity();
            // Watches may be behind the last writes. A list is not, and its differences are handled before it is complete.
            self.caches.relist_and_wait(Instant::now()).await?;
            if let Some(failing) = self.failing().filter(|_| self.activity() == before) {
                return Ok(failing);
            }
        }
    }

    /// The number of keys that wait for a worker.
    pub(crate) fn queued(&self) -> usize {
        self.queues.iter().map(|(_, queue)| queue.len()).sum()
    }

    /// The keys that keep failing, if all queues are idle.
    fn failing(&self) -> Option<Vec<Failing>> {
        let mut all = Vec::new();
        for (controller, queue) in &self.queues {
            let keys = queue.idle_now(PATIENCE)?;
            all.extend(keys.into_iter().map(|key| Failing { controller, key }));
        }
        all.sort();
        Some(all)
    }

    fn activity(&self) -> Vec<u64> {
        self.queues.iter().map(|(_, queue)| queue.activity()).collect()
    }
}
