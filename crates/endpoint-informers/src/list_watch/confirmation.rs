//! The check that a watch continues the history that the cache shows.
//!
//! The restore of a backup of etcd ends all watches. A watch that is resumed afterwards is accepted without an error if
//! the restored storage has reached its resourceVersion again, or will reach it: objects that the restore took stay in
//! the cache for ever. So each watch that begins at a version is followed by one consistent list of at most one object.
//! Its version is the storage's current one, and [`check_read`](kube_api::version_guard::VersionGuard::check_read) shows
//! whether it has fallen. The list is requested after the watch was accepted: a restore in between ends the watch again.
//!
//! The storage may have written so much since the restore that its version is not lower any more. With an even rate of
//! writes that takes as long as the backup is old. So a version is resumed from only for [`CONFIRMED_FOR`] after the last
//! time at which it was known to be of this history, and after that a list is due: no restore of a backup that is older
//! goes unnoticed, whatever connections did meanwhile.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::backoff::Backoff;
use kube_api::ApiClient;
use kube_api::time::{Instant, sleep};
use tracing::warn;

use super::error::WatchError;
use super::event::list_page;
use super::timing::{CONFIRMED_FOR, MAX_RETRY_AFTER};
use crate::cache::Cache;
use crate::state::CachedResource;

/// The time at which the version that the cache shows was last known to be of the history that the API server stores.
#[derive(Debug)]
pub(super) struct Confirmed {
    /// True while a watch shows that the history goes on.
    lasts: bool,
    at: Instant,
}

impl Default for Confirmed {
    fn default() -> Self {
        Self { lasts: false, at: Instant::now() }
    }
}

impl Confirmed {
    /// Records that the version is of this history now, and that the watch in progress continues it.
    pub(super) fn now(&mut self) {
        *self = Self { lasts: true, at: Instant::now() };
    }

    /// Records that a watch begins, which may continue another history.
    pub(super) fn watch_begins(&mut self) {
        self.lasts = false;
    }

    /// Records that the watch in progress has shown a version.
    pub(super) fn watched(&mut self) {
        if self.lasts {
            self.at = Instant::now();
        }
    }

    /// True while the watch in progress is known to continue the history.
    pub(super) fn lasts(&self) -> bool {
        self.lasts
    }

    /// True if the versions of another history may have reached this one.
    pub(super) fn is_outdated(&self) -> bool {
        self.at.elapsed() > CONFIRMED_FOR
    }
}

/// Returns when a list shows that versions did not fall. If they did, never returns, and every list-watch relists.
/// Failures are logged and retried with growing delays.
///
/// Cost: one request for a list of at most one object of the kind.
pub(super) async fn versions_did_not_fall<K: CachedResource>(
    client: ApiClient,
    cache: Arc<Cache>,
    header_timeout: Duration,
) {
    let mut backoff = Backoff::default();
    loop {
        let before = client.version_guard().baseline(K::RESOURCE);
        match current_version::<K>(&client, &cache, header_timeout).await {
            Ok(version) if client.version_guard().check_read(&before, &version).is_none() => return,
            Ok(_) => pending().await,
            Err(error) => {
                warn!(
                    resource = K::RESOURCE,
                    err = kube_api::error_chain(&error),
                    "Reading the current resourceVersion failed, will retry"
                );
                sleep(backoff.next_delay().max(error.retry_after().min(MAX_RETRY_AFTER))).await;
            }
        }
    }
}

/// The version of the storage, or of this kind's part of it.
async fn current_version<K: CachedResource>(
    client: &ApiClient,
    cache: &Cache,
    header_timeout: Duration,
) -> Result<String, WatchError> {
    // The objects that a list-watch selects may all be at the end of a long list: any object will do.
    let (encoding, body) = client.page(&format!("{}?limit=1", K::PATH), header_timeout).await?;
    Ok(list_page::<K>(encoding, &body, cache.interner())?.resource_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_watch_that_continues_the_history_confirms_later_versions() {
        let mut confirmed = Confirmed::default();
        for lasts in [true, false] {
            confirmed.now();
            if !lasts {
                confirmed.watch_begins();
            }
            assert_eq!(confirmed.lasts(), lasts);
            tokio::time::advance(CONFIRMED_FOR).await;
            assert!(!confirmed.is_outdated());
            confirmed.watched();
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(confirmed.is_outdated(), !lasts);
        }
    }
}
