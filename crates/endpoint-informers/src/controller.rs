//! The [`Controller`] trait, and how one runs.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{Priority, WorkQueue};
use controller_kit::worker::{Concurrency, SyncContext, SyncError, promote_out_of_sync, run_workers};
use controller_kit::write_order::WriteOrder;

use crate::cache::{Cache, Handler, State};
use crate::pending::{Decision, PendingWrite, WritePolicy};
use crate::repairs::Repairs;
use crate::resource::Resource as _;

/// The default of kube-controller-manager's `--concurrent-…-syncs` flags.
const DEFAULT_WORKERS: usize = 5;

/// The parts that a controller works with.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// The cache that the handlers are attached to.
    pub cache: &'a Cache,
    /// The work queue.
    pub queue: &'a WorkQueue<ObjectKey>,
    /// The order of its writes, if a rate limit makes them wait.
    pub order: Option<&'a WriteOrder>,
    /// The foreign changes of its objects, if it follows them.
    pub repairs: Option<&'a Repairs>,
}

/// A controller: its handlers turn changes of the cache into keys, and [`sync`](Self::sync) reconciles one key.
///
/// ```
/// use std::sync::Arc;
///
/// use controller_kit::key::ObjectKey;
/// use controller_kit::queue::{Cause, RateLimit, WorkQueue};
/// use controller_kit::worker::{SyncContext, SyncError};
/// use endpoint_informers::cache::{Cache, Handler};
/// use endpoint_informers::controller::{Controller, Parts, run};
///
/// /// Prints the name of each Service.
/// struct Printer {
///     cache: Arc<Cache>,
///     queue: WorkQueue<ObjectKey>,
/// }
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("never fails")]
/// struct Never;
///
/// impl SyncError for Never {
///     fn causes(&self) -> Vec<Cause> {
///         Vec::new()
///     }
/// }
///
/// impl Handler for Printer {}
///
/// impl Controller for Printer {
///     const NAME: &'static str = "printer";
///     type Error = Never;
///
///     fn parts(&self) -> Parts<'_> {
///         Parts { cache: &self.cache, queue: &self.queue, order: None, repairs: None }
///     }
///
///     async fn sync(&self, _: &SyncContext, key: &ObjectKey) -> Result<(), Never> {
///         println!("{key}");
///         Ok(())
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let queue = WorkQueue::new(RateLimit::default());
/// let printer = Arc::new(Printer { cache: Arc::default(), queue: queue.clone() });
/// queue.shut_down();
/// run(printer, 0, None).await;
/// # });
/// ```
pub trait Controller: Handler + 'static {
    /// The name in logs.
    const NAME: &'static str;

    /// The error of a failed sync.
    type Error: SyncError;

    /// The parts that it works with.
    fn parts(&self) -> Parts<'_>;

    /// The number of keys that are synced at the same time, apart from those whose requests [overlap](run).
    fn workers(&self) -> usize {
        DEFAULT_WORKERS
    }

    /// The keys that are synced once at start-up: every Service, unless implemented otherwise. `state` is the cache just
    /// before the first change that the handlers receive. Called once, unless [pending writes](Self::pending_writes) are
    /// asked for before.
    fn initial_keys(&self, state: &State) -> Vec<ObjectKey> {
        state.services.iter().map(|service| service.key()).collect()
    }

    /// Reconciles one key. Different keys are synced concurrently, one key never is.
    fn sync(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// The writes that a sync of this key would make, in no particular order; `None` if that is not known, because the cache
    /// is stale or an object in it can't be decoded, or because the controller does not implement this. Called alongside the
    /// workers; must change nothing. At start-up, keys with writes are synced first.
    ///
    /// Cost: that of planning all of the Service, and a copy of each object that would be written.
    fn pending_writes(&self, _key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        None
    }

    /// Records that a [policy](WritePolicy) leaves this key ([`Decision::Skip`]): no sync comes to forget what is kept for
    /// it only.
    fn skipped(&self, _key: &ObjectKey) {}

    /// Everything that this controller remembers between syncs besides its queue, in no particular order: the name of a
    /// table, and the Service, or the Endpoints of that name. Its memory grows with this. For tests, which check that
    /// nothing is remembered of what is gone.
    ///
    /// Cost: a copy of each key.
    fn remembered(&self) -> Vec<(&'static str, ObjectKey)> {
        Vec::new()
    }

    /// Runs alongside the workers until they end.
    fn background(&self) -> impl Future<Output = Infallible> + Send {
        pending()
    }
}

/// A handler that is detached when this is dropped.
struct Attached<'a> {
    cache: &'a Cache,
    handler: Arc<dyn Handler>,
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        self.cache.detach(&self.handler);
    }
}

/// Syncs the initial keys and then whatever the handlers queue, until the queue is shut down and the syncs under way have
/// finished. The cache must be synced. Must be called once only. The handlers are detached at the end, or when this is
/// dropped.
///
/// Initial keys are synced in their order. They have a low priority, so that changes overtake them; those with [writes](Controller::pending_writes)
/// get the normal one ([`promote_out_of_sync`]).
///
/// Up to `in_flight` syncs run at the same time, if that is more than the controller's [`workers`](Controller::workers), which
/// then bound only the syncs that have not [ended planning](SyncContext::end_planning). A policy, if there is one, allows,
/// postpones or skips each sync.
pub async fn run<C: Controller>(controller: Arc<C>, in_flight: usize, policy: Option<Arc<dyn WritePolicy>>) {
    let concurrency = Concurrency::from(controller.workers()).overlapping(in_flight);
    let Parts { cache, queue, order, .. } = controller.parts();
    let mut keys = Vec::new();
    let handler: Arc<dyn Handler> = Arc::clone(&controller) as _;
    let _attached = Attached { cache, handler: Arc::clone(&handler) };
    cache.attach(handler, |state| keys = controller.initial_keys(state));
    // Without the cache's lock. Changes that came first keep their priority.
    keys.sort();
    for key in &keys {
        queue.add_with_priority(key.clone(), Priority::Low);
    }
    let syncer = Arc::clone(&controller);
    let workers = run_workers(C::NAME, queue.clone(), concurrency, order.cloned(), move |key, context| {
        let (controller, policy) = (Arc::clone(&syncer), policy.clone());
        async move {
            let Some(policy) = policy else { return controller.sync(&context, &key).await };
            match policy.decide(&key, &|| controller.pending_writes(&key)) {
                Decision::Sync => return controller.sync(&context, &key).await,
                Decision::Skip => {
                    if let Some(repairs) = controller.parts().repairs {
                        repairs.forget(&key);
                    }
                    controller.skipped(&key);
                }
                Decision::After(delay) => controller.parts().queue.postpone(key, delay),
            }
            Ok(())
        }
    });
    let promotions = promote_out_of_sync(queue, keys, |key| {
        controller.pending_writes(key).is_some_and(|writes| !writes.is_empty())
    });
    tokio::select! {
        biased;
        _ = async { tokio::join!(workers, promotions) } => {}
        never = controller.background() => match never {},
    }
}

#[cfg(test)]
mod tests {
    use controller_kit::queue::{Cause, RateLimit};
    use futures::FutureExt as _;
    use tokio::task::yield_now;

    use super::*;

    struct Idle {
        cache: Arc<Cache>,
        queue: WorkQueue<ObjectKey>,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("never fails")]
    struct Never;

    impl SyncError for Never {
        fn causes(&self) -> Vec<Cause> {
            Vec::new()
        }
    }

    impl Handler for Idle {}

    impl Controller for Idle {
        const NAME: &'static str = "idle";
        type Error = Never;

        fn parts(&self) -> Parts<'_> {
            Parts { cache: &self.cache, queue: &self.queue, order: None, repairs: None }
        }

        async fn sync(&self, _: &SyncContext, _: &ObjectKey) -> Result<(), Never> {
            Ok(())
        }
    }

    /// The cache refers to the controller, and the controller to the cache.
    #[tokio::test]
    async fn a_controller_and_its_cache_are_freed_when_it_ends_or_is_dropped() {
        for ends in [true, false] {
            let (cache, queue) = (Arc::<Cache>::default(), WorkQueue::new(RateLimit::default()));
            let weak = Arc::downgrade(&cache);
            let mut running = Box::pin(run(Arc::new(Idle { cache, queue: queue.clone() }), 0, None));
            assert!(running.as_mut().now_or_never().is_none(), "it works");
            if ends {
                queue.shut_down();
                running.await;
            } else {
                drop(running);
            }
            yield_now().await;
            assert!(weak.upgrade().is_none(), "ends: {ends}");
        }
    }
}
