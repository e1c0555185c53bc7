//! The failures of a lifecycle.

use controller_kit::election::LeaseLost;

use crate::list_watch::RelistTimeout;

/// The failure of a process of controllers. End the process: leadership that was lost doesn't come back.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LifecycleError {
    /// Another process may write now. Syncs under way were abandoned.
    #[error("leader election lost")]
    LeaseLost(#[source] LeaseLost),
    /// Nothing was written: the cache may lack what the previous leader wrote.
    #[error("acquired the lease, but could not refresh the cache")]
    Relist(#[from] RelistTimeout),
    /// A task that runs until the end of the process has ended, because of a bug.
    #[error("an internal task ended: {0}")]
    TaskEnded(String),
}
