//! Keeps one kind of the cache in step with the API server, for ever.
//!
//! ```text
//!        ┌──────────── list (streaming, else in pages) <───────────┐
//!        v                                                         │ 410, or nonsense: no way on from here
//!      watch from the last resourceVersion ──> events ──> cache ───┤
//!        ^                                                         │
//!        └── at once <── broken after 1 s or more                  │
//!        └── back-off with jitter <── anything else ───────────────┘
//! ```
//!
//! That a watch breaks is ordinary: load balancers cut connections that are idle for as little as 20 s, and an API server
//! that is replaced cuts all of them. So a watch that was accepted and lived for a second is resumed at once, and counts as
//! a success, as in client-go's reflector. Only what fails early or is refused waits longer each time.
//!
//! The initial list is a watch that sends what exists and then a bookmark (KEP-3157), so that no whole list is ever in
//! memory and the cache serves its old content meanwhile. A server that doesn't know this, or stays silent, is listed
//! in pages, and so is one whose streams break three times in a row; streaming is tried again later.
//!
//! Whoever must know that nothing is missing wishes for a new list: a watch, even one that has just been opened, doesn't
//! say how far behind it is, while a list holds everything that was written before it was asked for.
//!
//! Every list is consistent: asked for without a resourceVersion, it holds what was acknowledged before it was asked for.
//! Controllers rely on that when they stop waiting for the events of their own writes.
//!
//! A watch that stays silent is not trusted: the API server sends a bookmark about every minute, so a connection
//! without any event for longer is dropped and resumed over a new connection. (A peer that is gone is noticed sooner, by the
//! connection itself: see [`KeepAlive`](kube_api::KeepAlive).) If the next one says nothing at all, it may be the place in
//! history that is wrong: an API server that was restored from a backup accepts a watch from versions that it has yet to
//! reach, and sends neither events nor bookmarks until then. So the next thing is a list. A restore that other answers
//! show ([`version_guard`](kube_api::version_guard)) has every kind listed again at once.
//!
//! kube's own watcher is not used; see ARCHITECTURE.md.

mod backoff;
mod error;
mod events;
mod fallback;
mod group;
mod metrics;
mod progress;

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tracing::{debug, error, info, trace, warn};

pub use backoff::Backoff;
pub use error::WatchError;
pub use group::{Behind, Cached, Caches, ListWatches};
pub use metrics::ListWatchMetrics;

use self::events::{Event, EventStream, Unreadable, list_page};
use self::fallback::Fallback;
use self::metrics::Series;
use self::progress::Progress;
use crate::cache::{Cache, News, PORTION};
use crate::kinds::Kind;
use controller_kit::queue::Lane;
use kube_api::version_guard::Baseline;
use kube_api::{ApiClient, Encoding, Origin};

/// The bounds on a list-watch, in time.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The longest wait for the header of an answer.
    pub header: Duration,
    /// The longest silence of a running watch. Bookmarks come about once a minute.
    pub silence: Duration,
    /// The longest silence of an initial list, after which it is asked for in pages.
    pub initial_silence: Duration,
    /// The server is asked to end a watch after a time between this and twice this (client-go: 5 minutes).
    pub lifetime: Duration,
    /// The same of a watch that begins with a list, which would begin again if it were cut: what an API server gives a watch
    /// that doesn't ask (`--min-request-timeout`: 30 minutes).
    pub list_lifetime: Duration,
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

/// The objects in one page of a list, where lists are paged (client-go: 500).
const PAGE_SIZE: u32 = 500;
/// The longest `Retry-After` that is waited for: the cache must not stand still because of a strange answer.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// A watch that lived for so long works, however it ended (client-go: 1 s, "very short watch").
const WORKS_AFTER: Duration = Duration::from_secs(1);
/// The longest pause before a broken watch is resumed: whatever broke it may have broken those of many clients.
const RESUME_JITTER: Duration = Duration::from_millis(500);
/// Restores of the API server's storage that are noticed within this time of one another are taken for one that is noticed
/// again, as while the watch cache of one of several API servers still tells what was before it.
const RESTORES_APART: Duration = Duration::from_secs(120);
/// The longest wait for the header of a whole list. An API server gives a request 60 s (`--request-timeout`), and may need
/// most of them before the first byte.
const WHOLE_LIST_HEADER: Duration = Duration::from_secs(68);
/// How long the server may still take to end a watch after its lifetime.
const GRACE: Duration = Duration::from_secs(10);

/// Keeps the objects of kind `K` in the cache. Create it, subscribe to [`Self::synced`], then [`Self::run`] it.
pub struct ListWatch<K> {
    client: ApiClient,
    cache: Arc<Cache>,
    timing: Timing,
    /// What of the kind is asked for, as a part of the query; empty for all.
    selection: String,
    synced: watch::Sender<bool>,
    /// The number of the latest wish for a new list that a complete list has granted.
    listed: watch::Sender<u64>,
    wishes: watch::Receiver<u64>,
    progress: Arc<Progress>,
    /// Rises when somebody waits for this kind, which ends the wait between attempts.
    hurry: watch::Receiver<u64>,
    /// The number of restores of the API server's storage that this list-watch has dealt with, or is dealing with.
    restores: Arc<AtomicU64>,
    /// The resourceVersions that were known when the list under way was asked for.
    before_list: Option<Baseline>,
    /// The latest wish when the attempt under way began.
    wish: u64,
    /// Nothing is asked for until then: the server wants to be left alone, or restores repeat.
    not_before: Instant,
    /// Where to go on from; `None` asks for a list.
    resume: Option<String>,
    /// When the watch of the attempt under way was accepted.
    accepted: Option<Instant>,
    fallback: Fallback,
    metrics: Series,
    kind: PhantomData<K>,
}

impl<K: Kind> ListWatch<K> {
    /// A list-watch of all objects of the kind.
    pub fn new(client: ApiClient, cache: Arc<Cache>, timing: Timing) -> Self {
        let (synced, listed) = (watch::Sender::new(false), watch::Sender::new(0));
        let (_, wishes) = watch::channel(0);
        let (fallback, metrics) = (Fallback::default(), ListWatchMetrics::default().of_kind::<K>());
        let selection = String::new();
        Self {
            client,
            cache,
            timing,
            selection,
            synced,
            listed,
            wishes,
            progress: Arc::default(),
            hurry: watch::channel(0).1,
            restores: Arc::default(),
            before_list: None,
            wish: 0,
            not_before: Instant::now(),
            resume: None,
            accepted: None,
            fallback,
            metrics,
            kind: PhantomData,
        }
    }

    /// Keeps only objects whose labels match the selector, such as `app=web` or `!app`. To the cache, an object that no
    /// longer matches is deleted, and one that begins to is new.
    #[must_use]
    pub fn with_label_selector(self, selector: &str) -> Self {
        Self { selection: format!("&labelSelector={}", escape(selector)), ..self }
    }

    /// Counts in `metrics`; otherwise nobody sees what is counted.
    #[must_use]
    pub fn with_metrics(self, metrics: &ListWatchMetrics) -> Self {
        Self { metrics: metrics.of_kind::<K>(), ..self }
    }

    /// Asks for a new list whenever this number rises, whatever is under way: a watch, another list, or a wait between
    /// attempts, unless the server asked for that wait, or restores repeat.
    #[must_use]
    pub fn with_wishes(self, wishes: watch::Receiver<u64>) -> Self {
        Self { wishes, ..self }
    }

    /// Becomes true when the cache holds everything the server held, and stays true.
    pub fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    /// The number of the latest [wish](Self::with_wishes) that is granted: the cache has held everything that the server
    /// held when that wish was made. It never falls.
    pub fn listed(&self) -> watch::Receiver<u64> {
        self.listed.subscribe()
    }

    fn with_hurry(self, hurry: watch::Receiver<u64>) -> Self {
        Self { hurry, ..self }
    }

    fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Runs until it is dropped. Everything that goes wrong is logged and tried again.
    pub async fn run(mut self) {
        let (mut wishes, mut restores) = (self.wishes.clone(), self.client.version_guard().restores());
        let dealt_with = Arc::clone(&self.restores);
        let (mut again, mut last_restore) = (Backoff::default(), None::<Instant>);
        loop {
            self.wish = *wishes.borrow_and_update();
            dealt_with.store(*restores.borrow(), Ordering::Relaxed);
            tokio::select! {
                biased;
                Ok(()) = wishes.changed() => info!(resource = K::RESOURCE, "Listing again, as asked"),
                Ok(_) = restores.wait_for(|now| *now != dealt_with.load(Ordering::Relaxed)) => {
                    info!(resource = K::RESOURCE, "Listing again, as resourceVersions went back");
                    let now = Instant::now();
                    if last_restore.replace(now).is_some_and(|last| now - last < RESTORES_APART) {
                        self.not_before = self.not_before.max(now + again.next_delay());
                    }
                }
                never = self.keep_in_step() => match never {},
            }
            self.resume = None;
        }
    }

    /// Lists and watches, again and again.
    async fn keep_in_step(&mut self) -> Infallible {
        let mut backoff = Backoff::default();
        // What the server asks for counts also for whoever is in a hurry.
        sleep_until(self.not_before).await;
        loop {
            self.accepted = None;
            let outcome = self.attempt().await;
            self.progress.set_live(false);
            let worked = self.accepted.is_some_and(|accepted| accepted.elapsed() >= WORKS_AFTER);
            let asked_to_wait = match outcome {
                // A watch that reached its lifetime is simply resumed; one that ended at once is not hurried back to.
                Ok(()) if worked => {
                    backoff.reset();
                    continue;
                }
                Ok(()) => {
                    debug!(resource = K::RESOURCE, "Watch ended early");
                    Duration::ZERO
                }
                Err(error) if worked && error.is_break() && self.resume.is_some() => {
                    debug!(
                        resource = K::RESOURCE,
                        err = kube_api::error_chain(&error),
                        "Resuming a broken watch"
                    );
                    backoff.reset();
                    sleep(RESUME_JITTER.mul_f64(fastrand::f64())).await;
                    continue;
                }
                Err(error)
                    if error.is_unsupported() && self.resume.is_none() && !self.fallback.is_paged() =>
                {
                    info!(resource = K::RESOURCE, err = %error, "No streaming list, listing in pages");
                    self.fallback.streaming_failed();
                    continue;
                }
                Err(error) => {
                    self.report(&error);
                    error.retry_after().min(MAX_RETRY_AFTER)
                }
            };
            self.not_before = Instant::now() + asked_to_wait;
            tokio::select! {
                () = sleep(backoff.next_delay().max(asked_to_wait)) => {}
                Ok(()) = self.hurry.changed() => sleep_until(self.not_before).await,
            }
        }
    }

    /// Decides how the next attempt differs from the one that failed.
    fn report(&mut self, error: &WatchError) {
        if self.resume.is_none() && !self.fallback.is_paged() {
            if error.is_silence() {
                self.fallback.streaming_failed();
            } else if !error.is_unreachable() && error.retry_after().is_zero() {
                // One that is told when to come back was not served at all.
                self.fallback.streaming_broke();
            }
        }
        if error.leads_nowhere() {
            self.resume = None;
        }
        if error.is_expired() {
            info!(resource = K::RESOURCE, "Watch history expired, will list again");
            return;
        }
        warn!(resource = K::RESOURCE, err = %kube_api::error_chain(error), "List-watch failed, will retry");
    }

    async fn attempt(&mut self) -> Result<(), WatchError> {
        if self.resume.is_none() && self.fallback.is_paged() {
            self.list_in_pages().await?;
        }
        self.watch().await
    }

    /// One watch, from the last resourceVersion or else with a streaming list before it.
    async fn watch(&mut self) -> Result<(), WatchError> {
        let selection = &self.selection;
        let lifetime = if self.resume.is_some() { self.timing.lifetime } else { self.timing.list_lifetime };
        let lifetime = lifetime.mul_f64(1.0 + fastrand::f64());
        let seconds = lifetime.as_secs();
        let from = match &self.resume {
            Some(resource_version) => format!("resourceVersion={}", escape(resource_version)),
            None => "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned(),
        };
        let query = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&{from}{selection}",
            K::PATH
        );
        let mut nothing_came = if self.resume.is_some() {
            WatchError::Mute
        } else {
            self.begin_list();
            WatchError::Silent
        };
        let response = self.client.open(&query, self.timing.header).await?;
        self.accepted = Some(Instant::now());
        self.progress.set_live(self.resume.is_some());
        let origin = response.extensions().get::<Origin>().cloned();
        let encoding = Encoding::of_answer(response.headers());
        let mut events = EventStream::new(encoding, response.into_body());
        let deadline = Instant::now() + lifetime + GRACE;
        loop {
            let patience =
                if self.resume.is_some() { self.timing.silence } else { self.timing.initial_silence };
            let next =
                timeout_at(deadline.min(Instant::now() + patience), events.next::<K>(self.cache.interner()));
            let Ok(next) = next.await else {
                origin.iter().for_each(Origin::distrust);
                return Err(nothing_came);
            };
            match next? {
                Some(event) => {
                    nothing_came = WatchError::Silent;
                    let start = Instant::now();
                    let end_of_list = self.take_in(event, &mut events)?;
                    self.metrics.processed(start.elapsed());
                    if let Some(resource_version) = end_of_list {
                        self.finish_list(of_a_moment(resource_version)?).await;
                        self.fallback.streaming_worked();
                    }
                }
                None if self.resume.is_none() => return Err(WatchError::Incomplete),
                None => return Ok(()),
            }
        }
    }

    /// Takes in an event and those that have arrived behind it, up to a portion, in one hold of the cache's lock. Returns
    /// the resourceVersion at which an initial list ends, if it does; an error, after what came before it.
    fn take_in(&mut self, first: Event<K>, events: &mut EventStream) -> Result<Option<String>, WatchError> {
        let listing = self.resume.is_none();
        if listing {
            self.progress.moved();
        }
        let (mut news, mut latest, mut outcome) = (Vec::new(), String::new(), Ok(None));
        let mut next = Some(first);
        for taken in 1.. {
            let resource_version = match next.take() {
                None => break,
                Some(Event::Bookmark { resource_version, initial_events_end: true }) if listing => {
                    outcome = Ok(Some(resource_version));
                    break;
                }
                Some(Event::Bookmark { resource_version, .. }) => resource_version,
                Some(Event::Upsert { object, resource_version }) => {
                    let (namespace, name) = (object.namespace(), object.name());
                    trace!(
                        resource = K::RESOURCE,
                        namespace, name, resource_version, "Object added or changed"
                    );
                    news.push(News::Present(object));
                    resource_version
                }
                Some(Event::Delete { namespace, name, resource_version }) => {
                    trace!(resource = K::RESOURCE, namespace, name, resource_version, "Object deleted");
                    news.push(News::Gone { namespace, name });
                    resource_version
                }
                Some(Event::Unreadable { object, resource_version }) => {
                    news.push(self.unreadable(object));
                    resource_version
                }
            };
            // Inside a streaming list there is nothing to resume from: it must begin again if it breaks.
            if !listing && !resource_version.is_empty() {
                latest = resource_version;
            }
            if taken < PORTION {
                match events.arrived(self.cache.interner()) {
                    Ok(arrived) => next = arrived,
                    Err(error) => outcome = Err(error),
                }
            }
        }
        if news.is_empty() {
            self.cache.observe::<K>(&latest);
        } else {
            self.cache.apply(news, &latest, if listing { Lane::Background } else { Lane::Live });
        }
        if !latest.is_empty() {
            self.go_on_from(latest);
        }
        outcome
    }

    /// An object that can't be read stays as it was: losing sight of it would delete its endpoints. If it was never read,
    /// nothing that depends on it is deleted.
    fn unreadable(&self, Unreadable { namespace, name, error }: Unreadable) -> News<K> {
        if name.is_empty() {
            error!(
                resource = K::RESOURCE,
                err = error,
                "Skipping an object whose name is unreadable, nothing is deleted because an object of this kind is gone \
                 until a list without such an object"
            );
        } else {
            warn!(resource = K::RESOURCE, namespace, name, err = error, "Skipping an unreadable object");
        }
        self.metrics.skipped();
        News::Unreadable { namespace, name }
    }

    /// Before the request: what is acknowledged after it need not be in the list.
    fn begin_list(&mut self) {
        self.before_list = Some(self.client.version_guard().baseline(K::RESOURCE));
        self.progress.asked();
        self.cache.begin_list::<K>();
    }

    async fn finish_list(&mut self, resource_version: String) {
        if let Some(before) = self.before_list.take()
            && let Some(restores) = self.client.version_guard().check_read(&before, &resource_version)
        {
            // This list is of the time after it.
            self.restores.store(restores, Ordering::Relaxed);
        }
        let mut end = self.cache.end_list::<K>(resource_version.clone());
        while end.step() {
            yield_now().await;
        }
        self.go_on_from(resource_version);
        self.listed.send_replace(self.wish);
        self.progress.complete();
        if !self.synced.send_replace(true) {
            info!(resource = K::RESOURCE, "Caches populated");
        }
    }

    /// The cache holds this moment, and what comes after it is wanted next.
    fn go_on_from(&mut self, resource_version: String) {
        self.client.version_guard().observe(
            self.restores.load(Ordering::Relaxed),
            K::RESOURCE,
            &resource_version,
        );
        self.metrics.at(&resource_version);
        self.resume = Some(resource_version);
    }

    /// The whole list, a page at a time.
    ///
    /// Pages are of the moment of the first one, which the server may forget while they are read. Then everything is asked
    /// for at once, as client-go does (`tools/pager`): pages would only be overtaken again.
    async fn list_in_pages(&mut self) -> Result<(), WatchError> {
        self.begin_list();
        let mut continue_token = String::new();
        loop {
            let mut query = format!("{}?limit={PAGE_SIZE}{}", K::PATH, self.selection);
            if !continue_token.is_empty() {
                query.push_str("&continue=");
                query.push_str(&escape(&continue_token));
            }
            let answer = match self.client.page(&query, self.timing.header).await {
                Err(error) if error.is_expired() && !continue_token.is_empty() => {
                    info!(
                        resource = K::RESOURCE,
                        "A list expired between its pages, asking for all of it at once"
                    );
                    return self.list_at_once().await;
                }
                answer => answer?,
            };
            match self.store_page(answer).await? {
                Some(next) => continue_token = next,
                None => return Ok(()),
            }
        }
    }

    /// The whole list in one answer, of this moment. The server has it in memory; so does this process, meanwhile.
    async fn list_at_once(&mut self) -> Result<(), WatchError> {
        self.begin_list();
        let query = match self.selection.strip_prefix('&') {
            Some(selection) => format!("{}?{selection}", K::PATH),
            None => K::PATH.to_owned(),
        };
        let came = || self.progress.moved();
        let answer = self.client.whole_list(&query, WHOLE_LIST_HEADER, came).await?;
        match self.store_page(answer).await? {
            Some(_) => Err(WatchError::Incomplete),
            None => Ok(()),
        }
    }

    /// Takes in a page. Returns how to ask for the next one, or finishes the list.
    async fn store_page(
        &mut self,
        (encoding, body): (Encoding, Bytes),
    ) -> Result<Option<String>, WatchError> {
        let page = list_page::<K>(encoding, &body, self.cache.interner())?;
        let resource_version = of_a_moment(page.resource_version)?;
        let mut items = page.items.into_iter();
        let mut took = Duration::ZERO;
        while items.len() > 0 {
            let start = Instant::now();
            let portion = items.by_ref().take(PORTION);
            let news = portion.map(|item| item.map_or_else(|object| self.unreadable(object), News::Present));
            self.cache.apply(news.collect::<Vec<_>>(), "", Lane::Background);
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

/// The resourceVersion of a list, which every list of an API server has. What is missing in anything else need not be
/// gone.
fn of_a_moment(resource_version: String) -> Result<String, WatchError> {
    if resource_version.is_empty() { Err(WatchError::NoVersion) } else { Ok(resource_version) }
}

/// Percent-encodes what is not safe in a query.
fn escape(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
        escaped
    })
}
