//! Keeps one kind of the cache up to date with the API server, for ever.
//!
//! ```text
//!        ┌──────────── list (streaming, else in pages) <───────────┐
//!        v                                                         │ 410, or nonsense: cannot resume from here
//!      watch from the last resourceVersion ──> events ──> cache ───┤
//!        ^                                                         │
//!        └── at once <── broken after 1 s or more                  │
//!        └── back-off with jitter <── anything else ───────────────┘
//! ```
//!
//! Watches break all the time: load balancers cut connections that are idle for as little as 20 s, and an API server
//! that is replaced cuts all of them. So a watch that was accepted and lived for a second is resumed at once, and
//! counts as a success, as in client-go's reflector. Only a watch that fails early or is refused waits longer each
//! time.
//!
//! The initial list is a watch that sends what exists and then a bookmark (KEP-3157), so that no whole list is ever in
//! memory and the cache serves its old content meanwhile. If the server doesn't know this, stays silent, or breaks
//! three streams in a row, the list is requested in pages; streaming is tried again later.
//!
//! A caller that must know that nothing is missing requests a relist: a watch, even one that has just been opened,
//! doesn't say how far behind it is, while a list holds everything that was written before it was requested.
//!
//! Every list is consistent: requested without a resourceVersion, it holds everything that was acknowledged before it
//! was requested. Controllers rely on that when they stop waiting for the events of their own writes.
//!
//! A silent watch is not trusted: the API server sends a bookmark about every minute, so a connection without any event
//! for longer is dropped and the watch is resumed over a new connection. (A dead peer is noticed earlier, by the
//! connection itself: see [`KeepAlive`](kube_api::KeepAlive).) If the new watch is silent from the start, its
//! resourceVersion may be wrong: an API server that was restored from a backup accepts a watch from versions that it
//! has not reached yet, and sends neither events nor bookmarks until then. So the next step is a list. If other
//! responses prove a restore ([`version_guard`](kube_api::version_guard)), every kind is relisted at once. Each resumed
//! watch is followed by a request for such a response.
//!
//! kube's own watcher is not used; see `docs/decisions/wire.md`.

mod confirmation;
mod error;
mod event;
mod event_stream;
mod fallback;
mod informers;
#[expect(clippy::module_inception, reason = "the file is named after its type")]
mod list_watch;
mod metrics;
mod pages;
mod progress;
mod reflector;
mod relist;
mod selection;
mod timing;

pub use informers::Informers;
pub use list_watch::ListWatch;
pub use metrics::ListWatchMetrics;
#[cfg(test)]
pub(crate) use progress::Lists;
pub use relist::{Caches, RelistTimeout};
#[cfg(test)]
pub(crate) use timing::Timing;
