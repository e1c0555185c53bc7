//! A controller's life, from the contest for the Lease to its release.

use std::future::pending;
use std::pin::pin;

use crate::list_watch::{Behind, Caches};
use controller_kit::election::{Elector, Leadership, LeaseLost};

/// Why a process no longer leads, other than because it was told to stop.
#[derive(Debug, thiserror::Error)]
pub enum LeadError {
    /// Somebody else may write now. What was under way was abandoned.
    #[error(transparent)]
    LeaseLost(#[from] LeaseLost),
    /// Nothing was written: the cache may lack what the previous leader wrote.
    #[error(transparent)]
    Behind(#[from] Behind),
}

/// Works while this process has the Lease: contends, brings the cache up to date, does the `work`, and at the end
/// releases the Lease, in this order.
///
/// When `stop` completes, `shut_down` tells the work to end, and the Lease is renewed until it has. A process that is
/// not at work yet ends at once. After an error, end the process: leadership that was lost doesn't come back.
///
/// ```no_run
/// use controller_kit::election::{Elector, Leadership};
/// use endpoint_informers::lead::{LeadError, lead};
/// use endpoint_informers::list_watch::Caches;
/// use controller_kit::queue::{Cause, WorkQueue};
/// use {endpoint_informers::cache::ObjectKey, controller_kit::worker::{SyncError, run_workers}};
/// # #[derive(Debug, thiserror::Error)]
/// # #[error("never")]
/// # struct Never;
/// # impl SyncError for Never { fn causes(&self) -> Vec<Cause> { Vec::new() } }
///
/// # async fn example(elector: Elector, leadership: Leadership, caches: Caches, queue: WorkQueue<ObjectKey>) -> Result<(), LeadError> {
/// let terminated = async { drop(tokio::signal::ctrl_c().await) };
/// let work = run_workers("example", queue.clone(), 5, |key| async move { println!("{key}"); Ok::<(), Never>(()) });
/// lead(elector, &leadership, &caches, work, terminated, || queue.shut_down()).await
/// # }
/// ```
pub async fn lead(
    elector: Elector,
    leadership: &Leadership,
    caches: &Caches,
    work: impl Future<Output = ()>,
    stop: impl Future<Output = ()>,
    shut_down: impl FnOnce(),
) -> Result<(), LeadError> {
    let mut outcome = Ok(());
    let finished = async {
        let mut stop = pin!(stop);
        tokio::select! {
            () = &mut stop => return,
            caught_up = turn(leadership, caches) => if caught_up.is_err() {
                outcome = caught_up;
                return;
            },
        }
        let mut work = pin!(work);
        tokio::select! {
            () = &mut stop => {
                shut_down();
                work.await;
            }
            () = &mut work => {}
        }
    };
    elector.run(finished).await?;
    Ok(outcome?)
}

/// Waits until we lead, and the cache holds what was written before.
async fn turn(leadership: &Leadership, caches: &Caches) -> Result<(), Behind> {
    if leadership.gained().await
        && let Some(since) = leadership.alone_since()
    {
        return caches.catch_up(since).await;
    }
    // The elector says why.
    pending().await
}
