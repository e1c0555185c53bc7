//! Workers: take a key, sync it, retry it if that failed.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::task::JoinSet;
use tracing::{debug, error};

use crate::key::ObjectKey;
use crate::queue::{Cause, WorkQueue};
use kube_api::error_chain;

/// Why a sync did not succeed.
pub trait SyncError: std::error::Error + Send {
    /// What went wrong, which decides when the key is retried. All of it, one for each thing that failed by itself.
    fn causes(&self) -> Vec<Cause>;

    /// True if a cache that catches up is all it takes: it was stale, or a write met a newer object. That is ordinary and
    /// not worth a message to users.
    fn heals_by_itself(&self) -> bool {
        let causes = self.causes();
        !causes.is_empty() && !causes.iter().any(|cause| matches!(cause, Cause::Failure { .. }))
    }
}

/// The most keys that leave the background for the live lane at the start: ten seconds of writes at client-go's default
/// of 20 a second.
pub const MOST_PROMOTED: usize = 200;

/// Runs `workers` tasks that call `sync` for each key, until the queue is shut down; syncs under way are finished, keys
/// that still wait are left to whoever comes next. Log lines name the `controller`.
///
/// A key that fails comes back with growing, capped delays for as long as it fails; it is never given up. One that only
/// waits for the cache comes back when the cache has caught up, see [`Cause`]. A `sync` that panics counts as failed and
/// takes no worker with it.
pub async fn run_workers<E, F, Fut>(
    controller: &'static str,
    queue: WorkQueue<ObjectKey>,
    workers: usize,
    sync: F,
) where
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
                process(controller, &queue, &key, &sync).await;
                // A sync that finds nothing to write need not wait for anything, and thousands of them in a row would
                // keep list-watches off this thread.
                tokio::task::yield_now().await;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
}

async fn process<E, F, Fut>(controller: &str, queue: &WorkQueue<ObjectKey>, key: &ObjectKey, sync: &F)
where
    E: SyncError,
    F: Fn(ObjectKey) -> Fut,
    Fut: Future<Output = Result<(), E>>,
{
    let causes = match AssertUnwindSafe(sync(key.clone())).catch_unwind().await {
        Ok(Ok(())) => return queue.forget(key),
        Ok(Err(error)) => {
            log(controller, key, &error);
            error.causes()
        }
        Err(_) => {
            error!(controller, key = %key, reason = "panic", "Sync panicked, will retry");
            vec![Cause::FAILURE]
        }
    };
    queue.retry(key.clone(), &causes);
}

fn log(controller: &str, key: &ObjectKey, error: &impl SyncError) {
    let (causes, err) = (error.causes(), error_chain(error));
    let failure = causes.iter().find(|cause| matches!(cause, Cause::Failure { .. }));
    match failure.or(causes.first()) {
        Some(Cause::StaleCache) => {
            debug!(controller, key = %key, reason = "stale cache", err, "Cache is behind, waiting for it");
        }
        Some(Cause::Conflict) => {
            debug!(controller, key = %key, reason = "conflict", err, "Write met a newer object, will retry");
        }
        Some(Cause::Failure { unanswered: true, .. }) => {
            error!(controller, key = %key, reason = "unavailable", err, "Error syncing, will retry");
        }
        Some(Cause::Failure { .. }) | None => {
            error!(controller, key = %key, reason = "failed", err, "Error syncing, will retry");
        }
    }
}

/// The keys that are queued at the start, in [`Lane::Background`](crate::queue::Lane), and a way to tell without writing
/// whether a sync of one would write.
pub struct Start<W> {
    /// The keys, in the order in which they were added.
    pub keys: Vec<ObjectKey>,
    /// True if a sync of this key would write something.
    pub is_wrong: W,
}

/// [`run_workers`], and meanwhile looks at all keys of the start without writing: those that are wrong leave the
/// background for the live lane, so that a Service that is wrong at the start doesn't wait behind thousands that are
/// right, each of which takes a turn between live changes.
///
/// Lets other tasks run between two looks. What a worker has taken already is not looked at. The looks end when
/// [`MOST_PROMOTED`] keys were wrong: then this is not catching up but building from nothing, where almost all are wrong,
/// nothing is gained by telling them apart, and live changes would wait for them.
///
/// Cost: one plan more for each key, at most.
pub async fn run_workers_from<W, E, F, Fut>(
    start: Start<W>,
    controller: &'static str,
    queue: WorkQueue<ObjectKey>,
    workers: usize,
    sync: F,
) where
    W: FnMut(&ObjectKey) -> bool,
    E: SyncError,
    F: Fn(ObjectKey) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), E>> + Send,
{
    let promote = promote_wrong(&queue, start);
    tokio::join!(run_workers(controller, queue.clone(), workers, sync), promote);
}

async fn promote_wrong(queue: &WorkQueue<ObjectKey>, start: Start<impl FnMut(&ObjectKey) -> bool>) {
    let Start { keys, mut is_wrong } = start;
    let mut wrong = 0;
    for key in keys {
        if wrong == MOST_PROMOTED || queue.is_shut_down() {
            return;
        }
        if queue.is_in_background(&key) && is_wrong(&key) {
            wrong += 1;
            queue.promote(&key);
        }
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests;
