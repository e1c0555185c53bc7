//! A watch, with or without a streaming list, and what every list begins and ends with.

use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kube_api::time::{Instant, timeout_at};
use kube_api::version_guard::Baseline;
use kube_api::{ApiClient, Encoding, Origin};
use tokio::sync::watch;
use tokio::task::yield_now;
use tracing::{error, info, trace, warn};

use super::confirmation::{Confirmed, versions_did_not_fall};
use super::error::WatchError;
use super::event::{Event, Unreadable};
use super::event_stream::EventStream;
use super::fallback::Fallback;
use super::metrics::{ListWatchMetrics, Series};
use super::progress::Progress;
use super::selection::{Selection, escape};
use super::timing::{GRACE, Timing};
use crate::cache::{BATCH_SIZE, Cache, Delta};
use crate::state::CachedResource;

/// The state of a list-watch between its attempts.
pub(super) struct Reflector<K> {
    pub(super) client: ApiClient,
    pub(super) cache: Arc<Cache>,
    pub(super) timing: Timing,
    pub(super) selection: Selection,
    pub(super) synced: watch::Sender<bool>,
    pub(super) progress: Arc<Progress>,
    /// The number of restores of the API server's storage that this list-watch has handled, or is handling.
    pub(super) restores: Arc<AtomicU64>,
    /// The resourceVersions that were known when the list in progress was requested.
    before_list: Option<Baseline>,
    /// The resourceVersion to resume from; `None` requires a list.
    pub(super) resume: Option<String>,
    /// The time at which the API server last showed that its storage has the history up to there.
    pub(super) confirmed: Confirmed,
    /// The time at which the watch of the current attempt was accepted.
    pub(super) accepted: Option<Instant>,
    pub(super) fallback: Fallback,
    pub(super) metrics: Series,
    kind: PhantomData<K>,
}

impl<K: CachedResource> Reflector<K> {
    pub(super) fn new(client: ApiClient, cache: Arc<Cache>, timing: Timing) -> Self {
        let client = if K::HAS_PROTOBUF { client } else { client.with_encoding(Encoding::Json) };
        Self {
            client,
            cache,
            timing,
            selection: Selection::default(),
            synced: watch::Sender::new(false),
            progress: Arc::default(),
            restores: Arc::default(),
            before_list: None,
            resume: None,
            confirmed: Confirmed::default(),
            accepted: None,
            fallback: Fallback::default(),
            metrics: ListWatchMetrics::default().of_kind::<K>(),
            kind: PhantomData,
        }
    }

    /// True if the next or the failed attempt is a streaming list.
    pub(super) fn is_streaming_list(&self) -> bool {
        self.resume.is_none() && !self.fallback.is_paged()
    }

    /// True if an object whose name is unreadable or not remembered was shown, and the last list is old. No event tells of
    /// the end of such an object, and until then nothing of its kind counts as deleted.
    pub(super) fn is_uncertain_for_long(&self) -> bool {
        let is_uncertain = self.cache.read(|state| K::table(state).unreadable().has_unnamed());
        let listed = self.progress.lists().borrow().complete;
        is_uncertain && listed.is_some_and(|listed| listed.elapsed() >= self.timing.list_lifetime)
    }

    /// Watches from the last resourceVersion, or else from a streaming list, until the watch ends.
    pub(super) async fn watch(&mut self) -> Result<(), WatchError> {
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
        let mut on_silence = if self.resume.is_some() {
            WatchError::Mute
        } else {
            self.begin_list();
            WatchError::Silent
        };
        let response = self.client.open(&query, self.timing.header).await?;
        self.accepted = Some(Instant::now());
        self.confirmed.watch_begins();
        let origin = response.extensions().get::<Origin>().cloned();
        let encoding = Encoding::of_response(response.headers());
        let mut events = EventStream::new(encoding, response.into_body());
        let (client, cache) = (self.client.clone(), Arc::clone(&self.cache));
        let mut confirmation = pin!(versions_did_not_fall::<K>(client, cache, self.timing.header));
        let mut heard = Instant::now();
        let deadline = heard + lifetime + GRACE;
        loop {
            let silence =
                if self.resume.is_some() { self.timing.silence } else { self.timing.initial_silence };
            let until = deadline.min(heard + silence);
            let next = tokio::select! {
                biased;
                () = &mut confirmation, if self.resume.is_some() && !self.confirmed.lasts() => {
                    if self.confirmed.is_outdated() {
                        return Err(WatchError::Unconfirmed);
                    }
                    self.confirmed.now();
                    self.set_live(true);
                    continue;
                }
                next = timeout_at(until, events.next::<K>(self.cache.interner())) => next,
            };
            // A process that was stopped finds events that are as old as the silence.
            let Some(next) = next.ok().filter(|_| Instant::now() <= until) else {
                origin.iter().for_each(Origin::distrust);
                return Err(on_silence);
            };
            match next? {
                Some(event) => {
                    on_silence = WatchError::Silent;
                    let start = Instant::now();
                    let end_of_list = self.apply_batch(event, &mut events)?;
                    self.metrics.processed(start.elapsed());
                    if let Some(resource_version) = end_of_list {
                        self.finish_list(require_version(resource_version)?).await;
                        self.fallback.streaming_worked();
                    }
                    heard = Instant::now();
                }
                None if self.resume.is_none() => return Err(WatchError::Incomplete),
                None => return Ok(()),
            }
        }
    }

    /// Applies an event and those that have arrived behind it, up to [`BATCH_SIZE`], in one hold of the cache's lock.
    /// Returns the resourceVersion at which a streaming list ends, if it does. An error is returned after the events
    /// before it are applied.
    fn apply_batch(
        &mut self,
        first: Event<K>,
        events: &mut EventStream,
    ) -> Result<Option<String>, WatchError> {
        let listing = self.resume.is_none();
        if listing {
            self.progress.moved();
        }
        let (mut deltas, mut latest, mut outcome) = (Vec::new(), String::new(), Ok(None));
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
                    deltas.push(Delta::Upsert(object));
                    resource_version
                }
                Some(Event::Delete { namespace, name, resource_version }) => {
                    trace!(resource = K::RESOURCE, namespace, name, resource_version, "Object deleted");
                    let version = resource_version.clone();
                    deltas.push(Delta::Delete { namespace, name, resource_version: version });
                    resource_version
                }
                Some(Event::Unreadable { object, resource_version }) => {
                    deltas.push(self.unreadable(object));
                    resource_version
                }
            };
            // A streaming list cannot be resumed: it must begin again if it breaks.
            if !listing && !resource_version.is_empty() {
                latest = resource_version;
            }
            if taken < BATCH_SIZE {
                match events.arrived(self.cache.interner()) {
                    Ok(arrived) => next = arrived,
                    Err(error) => outcome = Err(error),
                }
            }
        }
        if deltas.is_empty() {
            self.cache.observe::<K>(&latest);
        } else {
            self.cache.apply(deltas, &latest, listing);
        }
        if !latest.is_empty() {
            self.resume_from(latest);
        }
        outcome
    }

    /// Logs and counts an object that can't be decoded. Its old state stays in the cache, because dropping it would
    /// delete its endpoints. If there is no old state, nothing that depends on the object is deleted.
    pub(super) fn unreadable(&self, Unreadable { namespace, name, error }: Unreadable) -> Delta<K> {
        if name.is_empty() {
            error!(
                resource = K::RESOURCE,
                err = error,
                "Skipping an object whose name is unreadable; until a list without such an object, nothing is deleted \
                 because an object of this kind is missing"
            );
        } else {
            warn!(resource = K::RESOURCE, namespace, name, err = error, "Skipping an unreadable object");
        }
        self.metrics.skipped();
        Delta::Unreadable { namespace, name }
    }

    /// Begins a list, before the request: what is acknowledged after it need not be in the list.
    pub(super) fn begin_list(&mut self) {
        self.before_list = Some(self.client.version_guard().baseline(K::RESOURCE));
        self.progress.requested();
        self.metrics.set_live(false);
        self.cache.begin_list::<K>();
    }

    pub(super) async fn finish_list(&mut self, resource_version: String) {
        if let Some(before) = self.before_list.take()
            && let Some(restores) = self.client.version_guard().check_read(&before, &resource_version)
        {
            // This list was read after the restore.
            self.restores.store(restores, Ordering::Relaxed);
        }
        self.confirmed.now();
        let mut completion = self.cache.complete_list::<K>(resource_version.clone());
        while completion.step() {
            yield_now().await;
        }
        self.resume_from(resource_version);
        self.progress.complete();
        self.metrics.set_live(true);
        if !self.synced.send_replace(true) {
            info!(resource = K::RESOURCE, "Caches populated");
        }
    }

    /// Records that a watch that continues from the last list has begun or ended.
    pub(super) fn set_live(&self, live: bool) {
        self.progress.set_live(live);
        self.metrics.set_live(live);
    }

    /// Ends the history that the cache shows: what happened since then is not known before a new list.
    pub(super) fn require_list(&mut self) {
        if self.resume.take().is_some() {
            self.metrics.lost_history();
        }
    }

    /// Records that the cache shows this version: the next watch resumes from here.
    fn resume_from(&mut self, resource_version: String) {
        let restores = self.restores.load(Ordering::Relaxed);
        self.client.version_guard().observe(restores, K::RESOURCE, &resource_version);
        self.metrics.at(&resource_version);
        self.confirmed.watched();
        self.resume = Some(resource_version);
    }
}

/// Checks that a list has a resourceVersion, as every list of an API server has. Objects that are missing in any other
/// response need not be deleted.
pub(super) fn require_version(resource_version: String) -> Result<String, WatchError> {
    if resource_version.is_empty() { Err(WatchError::NoVersion) } else { Ok(resource_version) }
}
