//! The changes of a board as server-sent events.
//!
//! | Event | Id | Data |
//! |---|---|---|
//! | `source` | – | the origin of the rows, first of all and when it changes |
//! | `overview` | – | the cluster as a whole, when it changes |
//! | `changes` | the cursor after them | rows and removals |
//! | `resync` | – | none: the cursor is not known, and the client reads the list again |
//! | `alive` | – | none: 15 s have passed |
//!
//! A stream ends after five minutes, so that a client whose permissions are gone does not follow for longer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use crate::board::Cursor;
use crate::follow::Follower;
use crate::origin::Origin;
use crate::overview::Overview;

/// Services in one event.
const BATCH: usize = 500;
/// The data of events that have none: clients of server-sent events drop those without data.
const NONE: &str = "{}";
/// The time without an event after which an event says that the connection is alive.
const ALIVE: Duration = Duration::from_secs(15);
/// The time after which a client of server-sent events connects again.
const RETRY: Duration = Duration::from_secs(1);
/// The life of a stream.
const LIFE: Duration = Duration::from_mins(5);

/// The events after a cursor, until the server stops.
pub(crate) fn after(
    source: Arc<Follower>,
    cursor: Option<Cursor>,
    stopping: watch::Receiver<bool>,
    slot: OwnedSemaphorePermit,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let (mut origin, revision) = (source.board().origin(), source.board().revision());
    let overview = source.board().overview();
    origin.mark_changed();
    let next = if cursor.is_some() { Next::Changes } else { Next::Resync };
    let cursor = cursor.unwrap_or(Cursor { run: 0, revision: 0 });
    let end = Instant::now() + LIFE;
    let client = Client { source, cursor, next, origin, overview, revision, stopping, end, _slot: slot };
    let events = futures::stream::unfold(client, async |mut client| {
        let event = client.event().await?;
        Some((Ok(event), client))
    });
    Sse::new(events)
        .keep_alive(KeepAlive::new().interval(ALIVE).event(Event::default().event("alive").data(NONE)))
}

struct Client {
    source: Arc<Follower>,
    cursor: Cursor,
    next: Next,
    origin: watch::Receiver<Origin>,
    overview: watch::Receiver<Arc<Overview>>,
    revision: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    end: Instant,
    _slot: OwnedSemaphorePermit,
}

enum Next {
    Changes,
    Resync,
    End,
}

/// JSON without line breaks.
fn json(value: &impl Serialize) -> String {
    // Our types have string keys only, so that this can't fail.
    serde_json::to_string(value).unwrap_or_default()
}

impl Client {
    /// The next event; none at the end.
    async fn event(&mut self) -> Option<Event> {
        loop {
            if *self.stopping.borrow() || self.end <= Instant::now() {
                return None;
            }
            match self.next {
                Next::End => return None,
                Next::Resync => {
                    self.next = Next::End;
                    return Some(Event::default().event("resync").data(NONE));
                }
                Next::Changes => {}
            }
            if self.origin.has_changed().unwrap_or_default() {
                let origin = self.origin.borrow_and_update().clone();
                return Some(Event::default().event("source").retry(RETRY).data(json(&origin)));
            }
            if self.overview.has_changed().unwrap_or_default() {
                let overview = Arc::clone(&self.overview.borrow_and_update());
                return Some(Event::default().event("overview").data(json(&*overview)));
            }
            self.revision.mark_unchanged();
            let Some(changes) = self.source.board().after(self.cursor, BATCH) else {
                self.next = Next::Resync;
                continue;
            };
            if changes.cursor != self.cursor {
                self.cursor = changes.cursor;
                let event = Event::default().event("changes").id(changes.cursor.to_string());
                return Some(event.data(json(&changes)));
            }
            // An error says that the board is gone, which this client keeps.
            tokio::select! {
                _ = self.revision.changed() => {}
                _ = self.origin.changed() => self.origin.mark_changed(),
                _ = self.overview.changed() => self.overview.mark_changed(),
                _ = self.stopping.wait_for(|stopping| *stopping) => {}
                () = tokio::time::sleep_until(self.end) => {}
            }
        }
    }
}
