//! The state of one key, for a page that an operator reads.

use std::time::Duration;

/// The state of a key that the queue holds or remembers. Ages are those at the time of the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyState {
    /// The time for which a worker has held the key.
    pub syncing: Option<Duration>,
    /// The time for which the key has waited for a worker.
    pub queued: Option<Duration>,
    /// The time until a delayed add is due.
    pub delayed: Option<Duration>,
    /// The time until the retry of a failed sync is due.
    pub retry: Option<Duration>,
    /// The urgency of a plan that waits for its [turn](crate::write_order) to be written.
    pub waits_to_write: Option<&'static str>,
    /// The number of consecutive failures, as `num_requeues`.
    pub failures: u32,
    /// The age of the oldest change that has not been written.
    pub unwritten: Option<Duration>,
    /// The error of the last sync, if it failed.
    pub error: Option<LastError>,
}

/// The error of a key's last sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// The time since then.
    pub age: Duration,
    /// The reason as in the log and in `sync_retries_total`.
    pub reason: &'static str,
    /// The error with its sources, up to [`MAX_ERROR_BYTES`].
    pub text: String,
}

/// The longest text of an error that a queue keeps.
pub const MAX_ERROR_BYTES: usize = 1024;

/// The most keys whose errors a queue keeps; of others it knows that they fail.
pub const MAX_ERRORS: usize = 1000;
