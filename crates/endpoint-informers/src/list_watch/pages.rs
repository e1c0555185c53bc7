//! Lists in pages, where streaming lists don't work.

use std::time::Duration;

use bytes::Bytes;
use controller_kit::backoff::Backoff;
use kube_api::time::{Instant, sleep};
use kube_api::{Encoding, error_chain};
use tokio::task::yield_now;
use tracing::{debug, info};

use super::error::WatchError;
use super::event::list_page;
use super::reflector::{Reflector, require_version};
use super::selection::escape;
use super::timing::{MAX_RETRY_AFTER, WHOLE_LIST_HEADER};
use crate::cache::{BATCH_SIZE, Delta};
use crate::state::CachedResource;

/// The times that a page after the first is requested again: many pages would rarely all come at the first try of an API server
/// that sheds load, and the list would begin again each time.
const PAGE_RETRIES: u32 = 4;
/// The objects in one page (client-go: 500).
const PAGE_SIZE: u32 = 500;

impl<K: CachedResource> Reflector<K> {
    /// Lists everything, one page at a time.
    ///
    /// All pages are of the moment of the first one, which the server may forget while they are read. Then the whole
    /// list is requested at once, as client-go does (`tools/pager`): another list in pages would expire again.
    pub(super) async fn list_in_pages(&mut self) -> Result<(), WatchError> {
        self.begin_list();
        let mut continue_token = String::new();
        let (mut failures, mut backoff) = (0, Backoff::default());
        loop {
            let mut query = format!("{}?limit={PAGE_SIZE}{}", K::PATH, self.selection);
            if !continue_token.is_empty() {
                query.push_str("&continue=");
                query.extend(escape(&continue_token));
            }
            let response = match self.client.page(&query, self.timing.header).await {
                Err(error) if error.is_expired() && !continue_token.is_empty() => {
                    info!(resource = K::RESOURCE, "A list expired between its pages, requesting it at once");
                    return self.list_at_once().await;
                }
                Err(error)
                    if error.is_unavailable() && !continue_token.is_empty() && failures < PAGE_RETRIES =>
                {
                    let (delay, reason) = (backoff.next_delay(), error_chain(&error));
                    debug!(resource = K::RESOURCE, err = reason, "Requesting a page of a list again");
                    failures += 1;
                    let asked = error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER);
                    sleep(delay.max(asked)).await;
                    continue;
                }
                response => response?,
            };
            failures = 0;
            backoff.reset();
            match self.apply_page(response).await? {
                Some(next) => continue_token = next,
                None => return Ok(()),
            }
        }
    }

    /// Lists everything in one response, of this moment. The server holds all of it in memory, and so does this
    /// process.
    async fn list_at_once(&mut self) -> Result<(), WatchError> {
        self.begin_list();
        let selection = self.selection.to_string();
        let query = match selection.strip_prefix('&') {
            Some(selection) => format!("{}?{selection}", K::PATH),
            None => K::PATH.to_owned(),
        };
        let on_chunk = || self.progress.moved();
        let response = self.client.whole_list(&query, WHOLE_LIST_HEADER, on_chunk).await?;
        match self.apply_page(response).await? {
            Some(_) => Err(WatchError::Incomplete),
            None => Ok(()),
        }
    }

    /// Applies a page in batches. Returns the token of the next page, or finishes the list.
    async fn apply_page(
        &mut self,
        (encoding, body): (Encoding, Bytes),
    ) -> Result<Option<String>, WatchError> {
        let page = list_page::<K>(encoding, &body, self.cache.interner())?;
        let resource_version = require_version(page.resource_version)?;
        let mut items = page.items.into_iter();
        let mut took = Duration::ZERO;
        while items.len() > 0 {
            let start = Instant::now();
            let batch = items.by_ref().take(BATCH_SIZE);
            let deltas = batch.map(|item| item.map_or_else(|object| self.unreadable(object), Delta::Upsert));
            self.cache.apply(deltas.collect::<Vec<_>>(), "", true);
            took += start.elapsed();
            yield_now().await;
        }
        self.metrics.processed(took);
        self.progress.moved();
        if page.continue_token.is_empty() {
            self.finish_list(resource_version).await;
            return Ok(None);
        }
        Ok(Some(page.continue_token))
    }
}
