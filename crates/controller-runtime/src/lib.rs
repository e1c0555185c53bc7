//! The shell around controllers of Kubernetes endpoints.
//!
//! ```text
//! API server ──watch──> list_watch ──> cache ──Change──> Handler ──key──> queue ──> worker ──> sync
//!      ^                                                                                        │
//!      └──────────────────────────── slice_writer <──────────────── plan ───────────────────────┘
//! ```
//!
//! * [`api`]: the connection to the API server, with errors that say what happened and a bound on every wait.
//! * [`list_watch`]: keeps one kind in the cache, for ever.
//! * [`cache`]: one for the process; compact, indexed, consistent.
//! * [`queue`]: which keys wait, for how long, and whose turn it is.
//! * [`worker`]: takes a key, syncs it, retries it.
//! * [`mod@write`]: one write of one object, and how it fails.
//! * [`slice_writer`]: the only writer of EndpointSlices.
//! * [`own_slices`]: which changes of a controller's slices are its own echoes, and whether the cache shows them yet.
//! * [`repairs`]: how often changes by other clients are undone, and whom users are told of.
//! * [`echoes`]: events that overtake the answer to the write they are of.
//! * [`slice_sync`]: why a sync of slices is tried again.
//! * [`slice_metrics`]: what controllers of slices count.
//! * [`election`]: at most one process writes.
//! * [`version_guard`]: notices that the API server's storage was restored from a backup.
//! * [`recorder`]: events about objects, merged and limited as client-go does.
//!
//! Nothing here knows what an endpoint is; that is the `endpointslice` crate and the controllers.

pub mod api;
pub mod cache;
pub mod echoes;
pub mod election;
pub mod kinds;
pub mod list_watch;
pub mod own_slices;
pub mod plain_counter;
pub mod queue;
pub mod recorder;
pub mod repairs;
pub mod slice_metrics;
pub mod slice_sync;
pub mod slice_writer;
mod token_bucket;
pub mod version_guard;
pub mod worker;
pub mod write;

/// An error with everything behind it, on one line: `what: why: why`.
///
/// Some libraries draw pictures below their message; only the message itself is kept.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let first_line =
        |error: &dyn std::error::Error| error.to_string().lines().next().unwrap_or_default().to_owned();
    let mut line = first_line(error);
    let mut source = error.source();
    while let Some(cause) = source {
        let text = first_line(cause);
        // Some errors repeat their cause in their own text.
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        source = cause.source();
    }
    line
}

/// At most so many reasons are spelt out in a message.
const MAX_REASONS: usize = 5;

/// Reasons in one line: the first few, and how many more there are.
pub fn summary(reasons: impl ExactSizeIterator<Item = String>) -> String {
    let count = reasons.len();
    let shown: Vec<String> = reasons.take(MAX_REASONS).collect();
    let shown = shown.join(", ");
    if count > MAX_REASONS { format!("{shown} and {} more", count - MAX_REASONS) } else { shown }
}
