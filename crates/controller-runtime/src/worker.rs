//! Workers: take a key, sync it, retry it if that failed.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::task::JoinSet;
use tracing::{debug, error};

use crate::cache::ObjectKey;
use crate::queue::WorkQueue;

/// What a sync came to, beyond success.
pub trait SyncError: std::error::Error + Send {
    /// True if the next try, with a newer cache, is all it takes: the cache was behind what is stored, or somebody else
    /// wrote first. That is ordinary and not worth a message.
    fn heals_by_itself(&self) -> bool;
}

/// Runs `workers` tasks that call `sync` for each key, until the queue is shut down; syncs under way are finished, keys
/// that still wait are left to whoever comes next.
///
/// A key that fails comes back with growing, capped delays for as long as it fails; it is never given up. A `sync`
/// that panics counts as failed and takes no worker with it.
pub async fn run_workers<E, F, Fut>(queue: WorkQueue<ObjectKey>, workers: usize, sync: F)
where
    E: SyncError,
    F: Fn(ObjectKey) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), E>> + Send,
{
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let (queue, sync) = (queue.clone(), sync.clone());
        tasks.spawn(async move {
            while let Some(key) = queue.get().await {
                if queue.is_shut_down() {
                    break;
                }
                process(&queue, &key, &sync).await;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
}

async fn process<E, F, Fut>(queue: &WorkQueue<ObjectKey>, key: &ObjectKey, sync: &F)
where
    E: SyncError,
    F: Fn(ObjectKey) -> Fut,
    Fut: Future<Output = Result<(), E>>,
{
    match AssertUnwindSafe(sync(key.clone())).catch_unwind().await {
        Ok(Ok(())) => {
            queue.forget(key);
            return;
        }
        Ok(Err(error)) if error.heals_by_itself() => {
            debug!(service = %key, err = %error, "The cache was behind, will retry")
        }
        Ok(Err(error)) => {
            error!(service = %key, err = %crate::error_chain(&error), "Error syncing, will retry")
        }
        Err(_) => error!(service = %key, "Sync panicked, will retry"),
    }
    queue.add_rate_limited(key.clone());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::queue::RateLimit;

    #[derive(Debug, thiserror::Error)]
    #[error("no")]
    struct No;

    impl SyncError for No {
        fn heals_by_itself(&self) -> bool {
            false
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_tried_until_it_succeeds_even_after_a_panic() {
        let queue = WorkQueue::new(RateLimit::endpoint_slice());
        queue.add(ObjectKey::new("ns", "web"));
        let attempts = Arc::new(AtomicUsize::new(0));
        let (seen, until) = (Arc::clone(&attempts), queue.clone());
        run_workers(queue, 2, move |_| {
            let (attempt, queue) = (seen.fetch_add(1, Ordering::SeqCst), until.clone());
            async move {
                match attempt {
                    0 => panic!("a bug"),
                    1..=30 => Err(No),
                    _ => {
                        queue.shut_down();
                        Ok(())
                    }
                }
            }
        })
        .await;
        assert_eq!(attempts.load(Ordering::SeqCst), 32);
    }
}
