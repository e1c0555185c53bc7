//! The list-watches of a process.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::progress::{Lists, Progress};
use super::{ListWatch, ListWatchMetrics, Timing};
use crate::cache::Cache;
use crate::kinds::Kind;
use kube_api::ApiClient;

/// List-watches that fill one cache, and run until this is dropped.
///
/// ```no_run
/// use std::sync::Arc;
/// use {kube_api::ApiClient, endpoint_informers::cache::Cache, endpoint_informers::list_watch::ListWatches};
/// use endpointslice::{Pod, Service};
///
/// # async fn example(client: ApiClient) {
/// let cache = Arc::new(Cache::default());
/// let mut watches = ListWatches::new(client, Arc::clone(&cache));
/// watches.start(watches.of::<Pod>());
/// watches.start(watches.of::<Service>().with_label_selector("team=shop"));
/// watches.caches().synced().await;
/// # }
/// ```
pub struct ListWatches {
    client: ApiClient,
    cache: Arc<Cache>,
    metrics: Option<ListWatchMetrics>,
    tasks: JoinSet<&'static str>,
    caches: Caches,
}

/// What list-watches have achieved. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Caches {
    kinds: Vec<Cached>,
    /// Counts how often a new list of the kinds that controllers write was wished for.
    wishes: watch::Sender<u64>,
    /// Counts how often somebody waited for the other kinds.
    hurry: watch::Sender<u64>,
}

/// A kind in the cache.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Its plural name.
    pub resource: &'static str,
    /// Whether a new leader needs a list that was asked for late enough.
    is_written: bool,
    progress: Arc<Progress>,
}

/// The cache lacks what the API server holds, and lists bring nothing.
#[derive(Debug, thiserror::Error)]
#[error("nothing of the lists of {} came for {silence:?}", .resources.join(", "))]
pub struct Behind {
    /// The plural names of the kinds.
    pub resources: Vec<&'static str>,
    /// For how long nothing came.
    pub silence: Duration,
}

/// How long lists may bring nothing before that is told: as long as a list-watch itself waits for its list.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// How often in a row that may happen before a new leader gives up: five minutes.
const MAX_STALLS: u32 = 10;

impl ListWatches {
    /// None yet.
    pub fn new(client: ApiClient, cache: Arc<Cache>) -> Self {
        Self { client, cache, metrics: None, tasks: JoinSet::new(), caches: Caches::default() }
    }

    /// With metrics of those that are started from now on.
    #[must_use]
    pub fn with_metrics(self, metrics: ListWatchMetrics) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// A list-watch of all objects of a kind, to be narrowed down and [started](Self::start).
    pub fn of<K: Kind>(&self) -> ListWatch<K> {
        let list_watch = ListWatch::new(self.client.clone(), Arc::clone(&self.cache), Timing::default());
        let list_watch =
            if K::WRITTEN { list_watch.with_wishes(self.caches.wishes.subscribe()) } else { list_watch };
        let list_watch = list_watch.with_hurry(self.caches.hurry.subscribe());
        match &self.metrics {
            Some(metrics) => list_watch.with_metrics(metrics),
            None => list_watch,
        }
    }

    /// Lets a list-watch begin.
    pub fn start<K: Kind>(&mut self, list_watch: ListWatch<K>) {
        let progress = list_watch.progress();
        self.caches.kinds.push(Cached { resource: K::RESOURCE, is_written: K::WRITTEN, progress });
        self.tasks.spawn(async {
            list_watch.run().await;
            K::RESOURCE
        });
    }

    /// What those started so far have achieved.
    pub fn caches(&self) -> Caches {
        self.caches.clone()
    }

    /// Waits until one has ended, which only a bug can bring about, and says which or how.
    pub async fn ended(&mut self) -> String {
        match self.tasks.join_next().await {
            Some(Ok(resource)) => format!("the list-watch of {resource} has ended"),
            Some(Err(error)) => format!("a list-watch has ended: {error}"),
            None => "there are no list-watches".to_owned(),
        }
    }
}

impl Caches {
    /// Each kind.
    pub fn kinds(&self) -> &[Cached] {
        &self.kinds
    }

    /// Waits until the cache holds everything that the server held.
    pub async fn synced(&self) {
        for kind in &self.kinds {
            kind.reaches(Cached::is_synced).await;
        }
    }

    /// Waits until the cache holds what other processes wrote before `since`, when they ceased to write.
    ///
    /// A new leader needs this before it writes: its watches may be behind the last leader's writes, or their connections
    /// may be dead, without anybody knowing; it would make slices a second time. So kinds that controllers write
    /// ([`Kind::WRITTEN`]) must have a complete list that was asked for since then. Other kinds need one complete list of
    /// any time and a watch that the server has accepted, and may then be as old as live watches are in any process that
    /// has led for long; watches that wait between attempts, as after an outage, are resumed at once.
    ///
    /// Cost: one list of each kind that controllers write, which ends whatever their list-watches do; nothing if these
    /// kinds were listed since, or are being listed.
    ///
    /// # How long it takes
    ///
    /// As long as lists bring anything: a million objects may take minutes, and a process that gave up would begin
    /// again from nothing, as would the next one. When nothing came for 30 s, that is logged, and tried on: the Lease is
    /// kept as long as the elector can renew it, because two replicas that give up in turn only add lists to what
    /// makes the API server slow. Upstream waits without end (`WaitForCacheSync`). But what fails may be the way from
    /// here to the API server, on which only small requests arrive, and another replica may be well. So there is an
    /// end after five minutes in which not one object came.
    ///
    /// # Errors
    ///
    /// Names the kinds of whose lists nothing came for five minutes. The list-watches go on.
    pub async fn catch_up(&self, since: Instant) -> Result<(), Behind> {
        let (mut moved, mut stalls) = (self.last_moved(since), 0);
        while let Err(behind) = self.catch_up_or_stall(since).await {
            let last_moved = self.last_moved(since);
            stalls = if last_moved == moved { stalls + 1 } else { 1 };
            moved = last_moved;
            if stalls >= MAX_STALLS {
                return Err(Behind { silence: STALLED_AFTER * stalls, ..behind });
            }
            warn!(resources = behind.resources.join(","), err = %behind, "The cache does not catch up, trying on");
        }
        Ok(())
    }

    /// The same, but an error as soon as nothing came for 30 s, counted from the call at the earliest. Another call goes
    /// on where this one stopped.
    ///
    /// # Errors
    ///
    /// Names the kinds that are behind. The list-watches go on.
    pub async fn catch_up_or_stall(&self, since: Instant) -> Result<(), Behind> {
        // A list that has yet to be asked for will be late enough.
        let outdated = |kind: &Cached| kind.is_written && kind.asked().is_some_and(|asked| asked < since);
        if self.kinds.iter().any(outdated) {
            self.wishes.send_modify(|wishes| *wishes += 1);
        }
        if self.pending(since).next().is_some() {
            self.hurry.send_modify(|hurry| *hurry += 1);
        }
        let mut caught_up = pin!(async {
            // Again from the start, for a watch may have ended while another kind was waited for.
            while let Some(kind) = self.pending(since).next() {
                kind.reaches(|kind| kind.has_caught_up(since)).await;
            }
        });
        let mut moved = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = &mut caught_up => return Ok(()),
                () = sleep_until(moved + STALLED_AFTER) => {}
            }
            match self.last_moved(since) {
                later if later > moved => moved = later,
                _ => return Err(Behind { resources: self.behind(since), silence: STALLED_AFTER }),
            }
        }
    }

    fn pending(&self, since: Instant) -> impl Iterator<Item = &Cached> {
        self.kinds.iter().filter(move |kind| !kind.has_caught_up(since))
    }

    fn behind(&self, since: Instant) -> Vec<&'static str> {
        self.pending(since).map(|kind| kind.resource).collect()
    }

    /// When something of a list that is waited for came last.
    fn last_moved(&self, since: Instant) -> Instant {
        self.pending(since).map(|kind| kind.progress.last_moved()).max().unwrap_or(since)
    }
}

impl Cached {
    /// Whether the cache has held everything.
    pub fn is_synced(&self) -> bool {
        self.progress.lists().borrow().complete.is_some()
    }

    fn has_caught_up(&self, since: Instant) -> bool {
        let Lists { complete, live, .. } = *self.progress.lists().borrow();
        complete.is_some_and(|asked| if self.is_written { asked >= since } else { live })
    }

    fn asked(&self) -> Option<Instant> {
        self.progress.lists().borrow().asked
    }

    async fn reaches(&self, goal: impl Fn(&Self) -> bool) {
        let mut lists = self.progress.lists();
        while !goal(self) {
            // The sender lives as long as `self`. That a list-watch has ended is told elsewhere, and nothing more may
            // begin then.
            if lists.changed().await.is_err() {
                pending().await
            }
        }
    }
}
