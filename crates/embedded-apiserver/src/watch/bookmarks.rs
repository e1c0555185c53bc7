//! The times of bookmarks.

use std::time::Duration;

use tokio::time::Instant;

/// Bookmarks come about this often.
const PERIOD: Duration = Duration::from_secs(60);

/// The last bookmark comes this long before the end of the watch.
const BEFORE_END: Duration = Duration::from_secs(2);

/// The time of the next bookmark, if there is another one before the end (`nextBookmarkTime` of the cacher).
pub(super) fn next_bookmark(now: Instant, end: Option<Instant>) -> Option<Instant> {
    let periodic = now + PERIOD;
    let Some(end) = end else { return Some(periodic) };
    let next = end.checked_sub(BEFORE_END)?.min(periodic);
    (next > now).then_some(next)
}
