//! Workers: take a key, sync it, and retry it if the sync failed.

mod concurrency;
mod context;

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::{debug, error};

pub use self::concurrency::Concurrency;
use self::context::PlanningPermit;
pub use self::context::SyncContext;

use crate::environment::spawn_in;
use crate::key::ObjectKey;
use crate::queue::{Cause, WorkQueue, reason};
use crate::write_order::WriteOrder;
use kube_api::error_chain;

/// The error of a failed sync.
pub trait SyncError: std::error::Error + Send {
    /// The causes of the failure, which decide when the key is retried: one for each part that failed independently.
    fn causes(&self) -> Vec<Cause>;

    /// True if an up-to-date cache resolves the error: the cache was stale, or a write conflicted. Such errors are
    /// expected and need no event.
    fn is_transient(&self) -> bool {
        let causes = self.causes();
        !causes.is_empty() && !causes.iter().any(|cause| matches!(cause, Cause::Failure { .. }))
    }

    /// True if whatever can be written for the change has been, and only another change can resolve the error.
    fn is_written(&self) -> bool {
        false
    }
}

/// The most keys that [`promote_out_of_sync`] promotes: ten seconds of writes at client-go's default of 20 a second.
pub const MAX_PROMOTED: usize = 200;

/// Runs workers that call `sync` for each key until the queue is shut down. Then syncs in progress finish, and queued keys
/// are not synced. Log lines name the `controller`.
///
/// `concurrency` is the number of keys that are synced at the same time; a [`Concurrency`] may let more of them wait for
/// requests. `order` is that of the writes of syncs that [ask](SyncContext::admit) for them.
///
/// A key that fails is retried with growing, capped delays and never given up; see [`Cause`] for the delays. A `sync`
/// that panics counts as failed and does not end its worker.
pub async fn run_workers<E, F, Fut>(
    controller: &'static str,
    queue: WorkQueue<ObjectKey>,
    concurrency: impl Into<Concurrency> + Send,
    order: Option<WriteOrder>,
    sync: F,
) where
    E: SyncError,
    F: Fn(ObjectKey, SyncContext) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), E>> + Send,
{
    let mut tasks = JoinSet::new();
    let concurrency = concurrency.into();
    let permits = Arc::new(Semaphore::new(concurrency.planning()));
    for _ in 0..concurrency.in_flight() {
        let (queue, permits, sync) = (queue.clone(), Arc::clone(&permits), sync.clone());
        let order = order.clone();
        let worker = async move {
            // A worker that may not plan takes no key, so that the queue decides as late as possible which comes next.
            while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
                let Some(key) = queue.get().await else { break };
                if queue.is_shut_down() {
                    break;
                }
                process(controller, &queue, &key, permit, order.as_ref(), &sync).await;
                // A sync without a write need not await anything, and thousands of them in a row would block the other
                // tasks of this thread.
                tokio::task::yield_now().await;
            }
        };
        spawn_in(&mut tasks, &Handle::current(), worker);
    }
    let workers = async { while tasks.join_next().await.is_some() {} };
    let turns = async {
        match &order {
            Some(order) => order.run().await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        () = workers => {}
        never = turns => match never {},
    }
}

async fn process<E, F, Fut>(
    controller: &str,
    queue: &WorkQueue<ObjectKey>,
    key: &ObjectKey,
    permit: PlanningPermit,
    order: Option<&WriteOrder>,
    sync: &F,
) where
    E: SyncError,
    F: Fn(ObjectKey, SyncContext) -> Fut,
    Fut: Future<Output = Result<(), E>>,
{
    let context = SyncContext::new(permit, order.map(|order| (order.clone(), key.clone())));
    let (synced, declared) = (key.clone(), context.clone());
    // Called in the future, because the call may panic too. On the heap, so that idle workers are small.
    let call = Box::pin(async move { sync(synced, declared).await });
    let outcome = AssertUnwindSafe(call).catch_unwind().await;
    context.end_planning();
    if context.writes() {
        queue.needs_write(key);
    }
    if context.waits() && matches!(outcome, Ok(Ok(()))) {
        // Whether its writes succeed is not known yet.
        return queue.written(key);
    }
    if let Some(order) = order {
        order.finish(key, matches!(outcome, Ok(Ok(()))), context.unused());
    }
    let (causes, err) = match outcome {
        Ok(Ok(())) => return queue.forget(key),
        Ok(Err(error)) => {
            let (causes, err) = (error.causes(), error_chain(&error));
            log(controller, key, &causes, &err);
            if error.is_written() {
                queue.written(key);
            }
            (causes, err)
        }
        Err(_) => {
            error!(controller, key = %key, reason = "panic", "Sync panicked, will retry");
            (vec![Cause::FAILURE], "the sync panicked; the log has the message".to_owned())
        }
    };
    queue.retry(key.clone(), &causes);
    queue.keep_error(key, &causes, &err);
}

fn log(controller: &str, key: &ObjectKey, causes: &[Cause], err: &str) {
    match reason(causes) {
        reason @ "stale cache" => {
            debug!(controller, key = %key, reason, err, "Cache is stale, waiting for it");
        }
        reason @ "conflict" => debug!(controller, key = %key, reason, err, "Write conflicted, will retry"),
        reason => error!(controller, key = %key, reason, err, "Error syncing, will retry"),
    }
}

/// Moves initial keys that are out of sync from [`Priority::Low`](crate::queue::Priority::Low) to
/// [`Priority::Normal`](crate::queue::Priority::Normal); to be run alongside [`run_workers`]. A key that is out of sync at
/// the start then doesn't wait behind thousands that are in sync.
///
/// `is_out_of_sync` says, without writing, whether a sync of the key would write. Keys that a worker has taken already
/// are skipped. Other tasks run between two keys. Ends after [`MAX_PROMOTED`] promotions: when almost all keys are out
/// of sync, as on first use, promoting them would only delay live changes.
///
/// Cost: at most one call of `is_out_of_sync` per key.
pub async fn promote_out_of_sync(
    queue: &WorkQueue<ObjectKey>,
    keys: Vec<ObjectKey>,
    mut is_out_of_sync: impl FnMut(&ObjectKey) -> bool,
) {
    let mut promoted = 0;
    for key in keys {
        if promoted == MAX_PROMOTED || queue.is_shut_down() {
            return;
        }
        if queue.is_low_priority(&key) && is_out_of_sync(&key) {
            promoted += 1;
            queue.promote(&key);
        }
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests;
