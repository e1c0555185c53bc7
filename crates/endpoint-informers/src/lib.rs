//! Informers of the kinds that network endpoints are made from, and the writer of EndpointSlices.
//!
//! ```text
//! API server ──watch──> list_watch ──> cache ──Change──> Handler ──key──> queue ──> worker ──> sync
//!      ^                                                                                        │
//!      └──────────────────────────── slice_writer <──────────────── plan ───────────────────────┘
//! ```
//!
//! * [`list_watch`]: keeps one kind in the cache, for ever.
//! * [`cache`]: one for the process; compact, indexed, consistent.
//! * [`kinds`]: the kinds that it can hold.
//! * [`slice_writer`]: the only writer of EndpointSlices.
//! * [`own_slices`]: expectations of a controller's writes, and whether the cache shows them yet.
//! * [`repairs`]: how often changes by other clients are undone, and the event about it.
//! * [`echoes`]: events that overtake the answer to the write they are of.
//! * [`slice_sync`]: why a sync of slices is tried again.
//! * [`slice_metrics`]: what controllers of slices count.
//! * [`references`]: events about cached objects.
//! * [`controller`]: the trait of a controller, and how one runs.
//! * [`lifecycle`]: a process of controllers: contend for the Lease, refresh the cache, work, release.

pub mod cache;
pub mod controller;
pub mod echoes;
pub mod kinds;
pub mod lifecycle;
pub mod list_watch;
pub mod own_slices;
pub mod references;
pub mod repairs;
pub mod slice_metrics;
pub mod slice_sync;
pub mod slice_writer;

/// At most so many reasons are spelt out in a message.
const MAX_REASONS: usize = 5;

/// Reasons in one line: the first few, and how many more there are.
pub fn summary(reasons: impl ExactSizeIterator<Item = String>) -> String {
    let count = reasons.len();
    let shown: Vec<String> = reasons.take(MAX_REASONS).collect();
    let shown = shown.join(", ");
    if count > MAX_REASONS { format!("{shown} and {} more", count - MAX_REASONS) } else { shown }
}
