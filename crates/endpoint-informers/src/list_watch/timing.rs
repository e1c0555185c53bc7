//! The bounds on a list-watch, in time.

use std::time::Duration;

/// The bounds that tests shorten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// The longest wait for the header of a response.
    pub(crate) header: Duration,
    /// The longest silence of a running watch. Bookmarks come about once a minute.
    pub(crate) silence: Duration,
    /// The longest silence of a streaming list, after which the list is requested in pages.
    pub(crate) initial_silence: Duration,
    /// The server is asked to end a watch after a time between this and twice this (client-go: 5 minutes).
    pub(crate) lifetime: Duration,
    /// The same for a watch that begins with a list, which would begin again if the watch ended early. This is what an
    /// API server gives to a watch that doesn't ask (`--min-request-timeout`: 30 minutes).
    pub(crate) list_lifetime: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(30),
            silence: Duration::from_secs(150),
            initial_silence: Duration::from_secs(30),
            lifetime: Duration::from_secs(300),
            list_lifetime: Duration::from_secs(1800),
        }
    }
}

/// The longest `Retry-After` that is honoured: an odd response must not stop the cache.
pub(super) const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// A watch that lived this long counts as a success, however it ended (client-go: 1 s, "very short watch").
pub(super) const WORKS_AFTER: Duration = Duration::from_secs(1);
/// The longest pause before a broken watch is resumed: the same fault may have broken the watches of many clients.
pub(super) const RESUME_JITTER: Duration = Duration::from_millis(500);
/// Restores of the API server's storage that are noticed within this time of one another may be one restore noticed
/// again, as while the watch cache of one of several API servers still shows the time before it.
pub(super) const RESTORES_APART: Duration = Duration::from_secs(120);
/// The longest time after which a version is resumed from that was not confirmed again. The API server forgets older
/// versions at about this age, as the apiserver compacts etcd every five minutes (`--etcd-compaction-interval`).
pub(super) const CONFIRMED_FOR: Duration = Duration::from_secs(300);
/// The longest wait for the header of a whole list. An API server gives a request 60 s (`--request-timeout`), and may
/// need most of it before the first byte.
pub(super) const WHOLE_LIST_HEADER: Duration = Duration::from_secs(68);
/// The time that the server has to end a watch after its lifetime.
pub(super) const GRACE: Duration = Duration::from_secs(10);
