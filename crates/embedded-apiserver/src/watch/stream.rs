//! A running watch.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use super::events::{WatchEvent, WatchKind, convert};
use crate::list::{Request, parse_version, too_large, wait_for};
use crate::status::Status;
use crate::store::{Compacted, Life, Span, Store};

/// Number of events that are read from the log at once.
const BATCH: usize = 256;
/// Bookmarks come about this often.
const PERIOD: Duration = Duration::from_secs(60);
/// The last bookmark comes this long before the end of the watch.
const BEFORE_END: Duration = Duration::from_secs(2);

/// A watch that has begun. It holds a place in the log, not a copy of it: a reader that does not read costs nothing until
/// the log is compacted beyond its place, which ends the watch with 410.
#[derive(Debug)]
pub(crate) struct Watch {
    store: Arc<Store>,
    request: Request,
    changed: Receiver<u64>,
    life: Receiver<Life>,
    /// The life of the store in which it began.
    began_in: Life,
    /// Events that were read and not sent.
    pending: VecDeque<WatchEvent>,
    /// The version up to which the log was read.
    position: u64,
    /// The version at which it began. A bookmark of an older one would say nothing.
    began: u64,
    end: Option<Instant>,
    bookmark: Option<Instant>,
    ended: bool,
}

/// Begins a watch. `timeout` is its length if the request names none.
/// Errors: 500 for a version that is not a number, as the API server answers. All later errors are events of the watch.
pub(crate) async fn watch(
    store: Arc<Store>,
    request: Request,
    timeout: Option<Duration>,
) -> Result<Watch, Status> {
    let version =
        parse_version(&request.options.resource_version).map_err(|error| Status::new(500, "", error))?;
    let now = Instant::now();
    let length = match request.options.timeout_seconds {
        None | Some(0) => timeout,
        Some(seconds) => Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default())),
    };
    // An end beyond the clock is none.
    let end = length.and_then(|length| now.checked_add(length));
    let life = store.life();
    let began_in = *life.borrow();
    let mut watch = Watch {
        changed: store.subscribe(request.resource).unwrap_or_else(|| store.versions()),
        life,
        began_in,
        pending: VecDeque::new(),
        position: version,
        began: version,
        end,
        bookmark: None,
        ended: false,
        store,
        request,
    };
    watch.begin(version).await;
    if watch.request.options.allow_watch_bookmarks && watch.request.cached {
        watch.bookmark = next_bookmark(now, end);
    }
    Ok(watch)
}

impl Watch {
    /// The next event; none at the end of the watch.
    pub(crate) async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            if self.ended && self.pending.is_empty() || self.is_over() {
                return None;
            }
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            self.changed.mark_unchanged();
            if self.read_log() {
                continue;
            }
            self.wait().await;
        }
    }

    /// An event that is there already, without waiting: so that a body can send several at once.
    pub(crate) fn next_ready(&mut self) -> Option<WatchEvent> {
        if self.is_over() { None } else { self.pending.pop_front() }
    }

    /// True if its time is over, or the state it watches was replaced, or the server closes. Events that are pending are lost, as
    /// in the API server.
    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| end <= Instant::now()) || self.lost_its_store()
    }

    fn lost_its_store(&self) -> bool {
        let life = *self.life.borrow();
        life.closed || life != self.began_in
    }

    async fn begin(&mut self, version: u64) {
        match self.request.options.send_initial_events {
            Some(true) => {
                if let Err(error) = self.reach(version).await {
                    self.fail(error);
                } else {
                    self.read_state();
                }
            }
            // From now on.
            _ if version == 0 => self.begin_at(self.store.version()),
            _ => {
                self.begin_at(version);
                let oldest = self.store.oldest(self.request.resource);
                if version < oldest {
                    self.too_old(oldest);
                }
            }
        }
    }

    fn begin_at(&mut self, version: u64) {
        self.position = version;
        self.began = version;
    }

    async fn reach(&self, version: u64) -> Result<(), Status> {
        if self.request.cached {
            return wait_for(&self.store, version).await;
        }
        let current = self.store.version();
        if version > current { Err(too_large(version, current, 1)) } else { Ok(()) }
    }

    /// Begins with the current state: an event for each object.
    fn read_state(&mut self) {
        let mut objects = Vec::new();
        let request = &self.request;
        let prefix = request.single.as_deref().unwrap_or(&request.prefix);
        let span = Span { prefix, start: "" };
        let read = self.store.visit(request.resource, None, span, |object| {
            if request.in_scope(object) {
                objects.push(Arc::clone(object));
            }
            ControlFlow::Continue(())
        });
        let Ok(version) = read else { return };
        let selected = objects.into_iter().filter(|object| request.selection.matches(object));
        self.pending.extend(selected.map(|object| WatchEvent::Object(WatchKind::Added, object)));
        if self.request.options.allow_watch_bookmarks {
            self.pending.push_back(WatchEvent::Bookmark { version, initial_events_end: true });
        }
        self.begin_at(version);
    }

    /// Reads from the log. Returns whether there may be more to do before waiting.
    fn read_log(&mut self) -> bool {
        let request = &self.request;
        let wanted = |event: &crate::store::Event| request.in_scope(&event.object);
        match self.store.events_after(request.resource, self.position, BATCH, wanted) {
            Ok((events, read_up_to)) => {
                let advanced = read_up_to > self.position;
                self.position = read_up_to;
                self.pending.extend(events.iter().filter_map(|event| convert(request, event)));
                advanced
            }
            Err(Compacted(oldest)) => {
                self.too_old(oldest);
                true
            }
        }
    }

    fn too_old(&mut self, oldest: u64) {
        self.fail(Status::expired(if self.request.cached {
            format!("too old resource version: {} ({oldest})", self.position)
        } else {
            "The resourceVersion for the provided watch is too old.".to_owned()
        }));
    }

    fn fail(&mut self, error: Status) {
        self.pending.push_back(WatchEvent::Error(error));
        self.ended = true;
    }

    /// Waits for a change, the time of a bookmark, or the end.
    async fn wait(&mut self) {
        let end = self.end;
        let bookmark = self.bookmark;
        tokio::select! {
            biased;
            // The store cannot be gone while this watch has it.
            _ = self.life.changed() => {}
            _ = self.changed.changed() => {}
            () = at(end) => {}
            () = at(bookmark) => self.send_bookmark(),
        }
    }

    fn send_bookmark(&mut self) {
        self.bookmark = next_bookmark(Instant::now(), self.end);
        // Changes of other resources count as well: a client that resumes need not read them again.
        while !self.ended && self.read_log() {}
        if !self.ended && self.position > self.began {
            self.pending
                .push_back(WatchEvent::Bookmark { version: self.position, initial_events_end: false });
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The time of the next bookmark, if there is another one before the end (`nextBookmarkTime` of the cacher).
fn next_bookmark(now: Instant, end: Option<Instant>) -> Option<Instant> {
    let periodic = now + PERIOD;
    let Some(end) = end else { return Some(periodic) };
    let next = end.checked_sub(BEFORE_END)?.min(periodic);
    (next > now).then_some(next)
}
