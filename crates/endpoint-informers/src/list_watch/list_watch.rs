//! The loop of one kind: when to list, watch, resume and retry.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use controller_kit::backoff::Backoff;
use kube_api::ApiClient;
use kube_api::time::{Instant, sleep, sleep_until};
use tokio::sync::watch;
use tracing::{debug, info, warn};

use super::error::WatchError;
use super::metrics::ListWatchMetrics;
use super::progress::Progress;
use super::reflector::Reflector;
use super::timing::{MAX_RETRY_AFTER, RESTORES_APART, RESUME_JITTER, Timing, WORKS_AFTER};
use crate::cache::Cache;
use crate::state::CachedResource;

/// Keeps the objects of kind `K` in the cache, once [informers](super::Informers) start it.
pub struct ListWatch<K> {
    reflector: Reflector<K>,
    /// The sequence number of the latest relist request.
    relist_requests: watch::Receiver<u64>,
    /// Changes when a caller waits for this kind, which ends the wait between attempts.
    hurry: watch::Receiver<u64>,
    /// No request is sent before this time: the server has asked for a pause, or restores repeat.
    not_before: Instant,
}

impl<K: CachedResource> ListWatch<K> {
    /// A list-watch of all objects of the kind.
    pub(crate) fn new(client: ApiClient, cache: Arc<Cache>, timing: Timing) -> Self {
        Self {
            reflector: Reflector::new(client, cache, timing),
            relist_requests: watch::channel(0).1,
            hurry: watch::channel(0).1,
            not_before: Instant::now(),
        }
    }

    /// Keeps only objects whose labels match the selector, such as `app=web` or `!app`. An object that no longer
    /// matches is deleted from the cache, and one that begins to match is added.
    #[must_use]
    pub fn with_label_selector(mut self, selector: &str) -> Self {
        self.reflector.selection.labels = Some(selector.to_owned());
        self
    }

    /// Keeps only objects whose fields match the selector, such as `spec.nodeName=node-1`, of the fields that the API
    /// server selects by. An object that no longer matches is deleted from the cache, and one that begins to match is
    /// added.
    ///
    /// All controllers of the process share the cache: a selector must select what any of them needs. For controllers
    /// that publish `status.podIPs` of pods, [`POSSIBLE_ENDPOINTS`](crate::kinds::POSSIBLE_ENDPOINTS) does.
    #[must_use]
    pub fn with_field_selector(mut self, selector: &str) -> Self {
        self.reflector.selection.fields = Some(selector.to_owned());
        self
    }

    /// Counts in `metrics`. Without this call, metrics are not exposed.
    #[must_use]
    pub(crate) fn with_metrics(mut self, metrics: &ListWatchMetrics) -> Self {
        self.reflector.metrics = metrics.of_kind::<K>();
        self
    }

    /// Relists whenever this sequence number changes, whatever is in progress: a watch, another list, or a wait between
    /// attempts, unless the server asked for that wait, or restores repeat.
    #[must_use]
    pub(crate) fn with_relist_requests(self, relist_requests: watch::Receiver<u64>) -> Self {
        Self { relist_requests, ..self }
    }

    /// Becomes true when the cache holds everything that the server held, and stays true.
    #[cfg(test)]
    pub(crate) fn synced(&self) -> watch::Receiver<bool> {
        self.reflector.synced.subscribe()
    }

    /// The lists so far.
    #[cfg(test)]
    pub(crate) fn lists(&self) -> watch::Receiver<super::Lists> {
        self.reflector.progress.lists()
    }

    pub(super) fn with_hurry(self, hurry: watch::Receiver<u64>) -> Self {
        Self { hurry, ..self }
    }

    /// The selectors, as in the query.
    pub(super) fn selectors(&self) -> String {
        self.reflector.selection.to_string()
    }

    pub(super) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.reflector.progress)
    }

    /// Runs until it is dropped. Every failure is logged and retried.
    pub(crate) async fn run(mut self) {
        let mut relist_requests = self.relist_requests.clone();
        let mut restores = self.reflector.client.version_guard().restores();
        let handled = Arc::clone(&self.reflector.restores);
        let (mut backoff, mut last_restore) = (Backoff::default(), None::<Instant>);
        loop {
            relist_requests.mark_unchanged();
            handled.store(*restores.borrow(), Ordering::Relaxed);
            tokio::select! {
                biased;
                Ok(()) = relist_requests.changed() => info!(resource = K::RESOURCE, "Relisting on request"),
                Ok(_) = restores.wait_for(|now| *now != handled.load(Ordering::Relaxed)) => {
                    info!(resource = K::RESOURCE, "Relisting because resourceVersions went back");
                    self.reflector.cache.storage_restored::<K>();
                    self.reflector.require_list();
                    let now = Instant::now();
                    if last_restore.replace(now).is_some_and(|last| now - last < RESTORES_APART) {
                        self.not_before = self.not_before.max(now + backoff.next_delay());
                    }
                }
                never = self.list_and_watch() => match never {},
            }
            self.reflector.resume = None;
        }
    }

    /// Lists and watches, again and again.
    async fn list_and_watch(&mut self) -> Infallible {
        // A watch that works says nothing about lists: one that is accepted may be refused each time it is resumed.
        let (mut backoff, mut lists) = (Backoff::default(), Backoff::default());
        // A caller's hurry does not override what the server asked for.
        sleep_until(self.not_before).await;
        loop {
            let outcome = self.attempt().await;
            self.reflector.set_live(false);
            let worked = self.reflector.accepted.is_some_and(|accepted| accepted.elapsed() >= WORKS_AFTER);
            let asked_to_wait = match outcome {
                // A watch that reached its lifetime is resumed at once, but not one that ended right after it began.
                Ok(()) if worked => {
                    backoff.reset();
                    continue;
                }
                Ok(()) => {
                    debug!(resource = K::RESOURCE, "Watch ended early");
                    Duration::ZERO
                }
                Err(error) if worked && error.is_break() && self.reflector.resume.is_some() => {
                    debug!(
                        resource = K::RESOURCE,
                        err = kube_api::error_chain(&error),
                        "Resuming a broken watch"
                    );
                    backoff.reset();
                    sleep(RESUME_JITTER.mul_f64(fastrand::f64())).await;
                    continue;
                }
                Err(error) if error.is_unsupported() && self.reflector.is_streaming_list() => {
                    info!(resource = K::RESOURCE, err = %error, "Streaming lists are not supported, listing in pages");
                    self.reflector.fallback.streaming_failed();
                    continue;
                }
                Err(error) => {
                    self.prepare_retry(&error);
                    error.retry_after().min(MAX_RETRY_AFTER)
                }
            };
            self.not_before = Instant::now() + asked_to_wait;
            let backoff = if self.reflector.resume.is_none() { &mut lists } else { &mut backoff };
            tokio::select! {
                biased;
                () = sleep(backoff.next_delay().max(asked_to_wait)) => {}
                Ok(()) = self.hurry.changed() => sleep_until(self.not_before).await,
            }
        }
    }

    /// One list, if it is due and must be paged, and one watch.
    async fn attempt(&mut self) -> Result<(), WatchError> {
        self.reflector.accepted = None;
        if self.reflector.resume.is_some() && self.reflector.confirmed.is_outdated() {
            info!(
                resource = K::RESOURCE,
                "Relisting because nothing has confirmed the resourceVersion for long"
            );
            self.reflector.require_list();
        }
        if self.reflector.resume.is_some() && self.reflector.is_uncertain_for_long() {
            info!(
                resource = K::RESOURCE,
                "Relisting to see whether objects with unreadable names still exist"
            );
            self.reflector.resume = None;
        }
        if self.reflector.resume.is_none() && self.reflector.fallback.is_paged() {
            self.reflector.list_in_pages().await?;
        }
        self.reflector.watch().await
    }

    /// Logs a failure, and decides how the next attempt differs from the failed one.
    fn prepare_retry(&mut self, error: &WatchError) {
        if self.reflector.is_streaming_list() {
            if error.is_silence() {
                self.reflector.fallback.streaming_failed();
            } else if !error.is_unreachable() && error.retry_after().is_zero() {
                // A request that is told to retry later was not served, which says nothing about streaming.
                self.reflector.fallback.streaming_broke();
            }
        }
        self.reflector.metrics.failed();
        if error.requires_relist() {
            self.reflector.require_list();
        }
        if error.is_expired() {
            info!(resource = K::RESOURCE, "Watch history expired, relisting");
            return;
        }
        warn!(resource = K::RESOURCE, err = %kube_api::error_chain(error), "List-watch failed, will retry");
    }
}
