//! Waiting for lists: at the start, and for the relist of a new leader.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use kube_api::time::{Instant, sleep_until};
use tokio::sync::watch;
use tokio::task::yield_now;
use tracing::warn;

use super::list_watch::ListWatch;
use super::progress::{Lists, Progress};
use crate::cache::Cache;
use crate::state::CachedResource;

/// The state of all kinds in the cache. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Caches {
    kinds: Vec<CachedKind>,
    /// Sequence number of the latest relist request, for the kinds that controllers write.
    relist_requests: watch::Sender<u64>,
    /// Counts the waits for any kind, which end the back-off of a list-watch.
    hurry: watch::Sender<u64>,
    /// The cache, if a policy about disruptions is applied to it.
    disruptions: Option<Arc<Cache>>,
}

/// The state of one kind in the cache.
#[derive(Clone, Debug)]
struct CachedKind {
    /// The plural name of the kind.
    resource: &'static str,
    /// True if a new leader needs a list that was requested late enough.
    is_written: bool,
    progress: Arc<Progress>,
}

/// The cache lacks objects that the API server holds, and no part of a list has arrived for a long time.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no part of the lists of {} arrived for {silence:?}", .resources.join(", "))]
pub struct RelistTimeout {
    /// The plural names of the kinds.
    pub resources: Vec<&'static str>,
    /// The time for which nothing arrived.
    pub silence: Duration,
}

/// The time without any part of a list after which a warning is logged: the time that a list-watch itself waits.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// The number of such times in a row after which a new leader gives up: five minutes.
const MAX_STALLS: u32 = 10;

impl Caches {
    /// Connects a list-watch with the requests of [`Self::relist_and_wait`].
    pub(super) fn connect<K: CachedResource>(&self, list_watch: ListWatch<K>) -> ListWatch<K> {
        let list_watch = list_watch.with_hurry(self.hurry.subscribe());
        if K::WRITTEN {
            list_watch.with_relist_requests(self.relist_requests.subscribe())
        } else {
            list_watch
        }
    }

    /// Adds the kind of a list-watch.
    pub(super) fn add<K: CachedResource>(&mut self, list_watch: &ListWatch<K>) {
        let progress = list_watch.progress();
        self.kinds.push(CachedKind { resource: K::RESOURCE, is_written: K::WRITTEN, progress });
    }

    /// Makes [`Self::synced`] and [`Self::relist_and_wait`] end with the policy about disruptions applied: pods may have been listed before the nodes by which they
    /// count as ready.
    pub(crate) fn follow_disruptions(&mut self, cache: Arc<Cache>) {
        self.disruptions = Some(cache);
    }

    async fn reassess(&self) {
        while self.disruptions.as_ref().is_some_and(|cache| cache.reassess()) {
            yield_now().await;
        }
    }

    /// The plural name of each kind, and whether the cache has held everything that the server held.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.kinds.iter().map(|kind| (kind.resource, kind.is_synced()))
    }

    /// Waits until the cache holds everything that the server held (client-go: `WaitForCacheSync`).
    pub async fn synced(&self) {
        for kind in &self.kinds {
            kind.reaches(CachedKind::is_synced).await;
        }
        self.reassess().await;
    }

    /// Waits until the cache holds everything that other processes wrote before `since`, when they stopped writing.
    ///
    /// A new leader needs this before it writes. Its watches may be behind the last leader's writes, or their
    /// connections may be dead without notice, and it would create slices a second time. So kinds that controllers
    /// write ([`Resource::WRITTEN`](crate::resource::Resource::WRITTEN)) must have a complete list that was requested
    /// after `since`. Other kinds need one complete list of any time and a watch that the server has accepted; they may
    /// then be as old as live watches are in any process that has led for long. Watches that wait between attempts, as
    /// after an outage, are resumed at once.
    ///
    /// Cost: one list of each kind that controllers write, which interrupts whatever their list-watches do; nothing if
    /// these kinds were listed after `since`, or are being listed.
    ///
    /// # Duration
    ///
    /// The wait lasts as long as any part of a list arrives: a million objects may take minutes, and a process that
    /// gave up would begin again from nothing, as would the next one. When nothing arrived for 30 s, a warning is
    /// logged and the wait goes on. The Lease is kept while the elector can renew it, because two replicas that give up
    /// in turn only add lists to what makes the API server slow. Upstream waits for ever (`WaitForCacheSync`). But the
    /// cause may be the network path of this process, which lets only small requests through, while another replica is
    /// healthy. So the wait ends after five minutes in which not one object arrived.
    ///
    /// # Errors
    ///
    /// Names the kinds of whose lists nothing arrived for five minutes. The list-watches go on.
    pub async fn relist_and_wait(&self, since: Instant) -> Result<(), RelistTimeout> {
        let (mut moved, mut stalls) = (self.last_moved(since), 0);
        while let Err(timeout) = self.relist_and_wait_until_stalled(since).await {
            let last_moved = self.last_moved(since);
            stalls = if last_moved == moved { stalls + 1 } else { 1 };
            moved = last_moved;
            if stalls >= MAX_STALLS {
                return Err(RelistTimeout { silence: STALLED_AFTER * stalls, ..timeout });
            }
            warn!(resources = timeout.resources.join(","), err = %timeout, "Relist is stalled, still waiting");
        }
        self.reassess().await;
        Ok(())
    }

    /// [`Self::relist_and_wait`], but fails as soon as nothing arrived for 30 s, counted from the call at the earliest.
    /// Another call continues the same wait.
    ///
    /// # Errors
    ///
    /// Names the kinds that are not up to date. The list-watches go on.
    pub(crate) async fn relist_and_wait_until_stalled(&self, since: Instant) -> Result<(), RelistTimeout> {
        // A list that is not requested yet will be late enough.
        let outdated = |kind: &CachedKind| {
            kind.is_written && kind.requested().is_some_and(|requested| requested < since)
        };
        if self.kinds.iter().any(outdated) {
            self.relist_requests.send_modify(|seq| *seq += 1);
        }
        if self.pending(since).next().is_some() {
            self.hurry.send_modify(|hurry| *hurry += 1);
        }
        let mut up_to_date = pin!(async {
            // From the first kind again, because a watch may have ended while another kind was awaited.
            while let Some(kind) = self.pending(since).next() {
                kind.reaches(|kind| kind.is_up_to_date(since)).await;
            }
        });
        let mut moved = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = &mut up_to_date => return Ok(()),
                () = sleep_until(moved + STALLED_AFTER) => {}
            }
            match self.last_moved(since) {
                later if later > moved => moved = later,
                _ => {
                    let resources = self.pending(since).map(|kind| kind.resource).collect();
                    return Err(RelistTimeout { resources, silence: STALLED_AFTER });
                }
            }
        }
    }

    fn pending(&self, since: Instant) -> impl Iterator<Item = &CachedKind> {
        self.kinds.iter().filter(move |kind| !kind.is_up_to_date(since))
    }

    /// The time at which any part of an awaited list last arrived.
    fn last_moved(&self, since: Instant) -> Instant {
        self.pending(since).map(|kind| kind.progress.last_moved()).max().unwrap_or(since)
    }
}

impl CachedKind {
    /// True if the cache has held everything that the server held.
    fn is_synced(&self) -> bool {
        self.progress.lists().borrow().complete.is_some()
    }

    fn is_up_to_date(&self, since: Instant) -> bool {
        let Lists { complete, live, .. } = *self.progress.lists().borrow();
        complete.is_some_and(|requested| if self.is_written { requested >= since } else { live })
    }

    fn requested(&self) -> Option<Instant> {
        self.progress.lists().borrow().requested
    }

    async fn reaches(&self, goal: impl Fn(&Self) -> bool) {
        let mut lists = self.progress.lists();
        while !goal(self) {
            // The sender lives as long as `self`. If the list-watch has ended, `Informers::ended` reports it, and
            // nothing more may begin.
            if lists.changed().await.is_err() {
                pending().await
            }
        }
    }
}
