//! The oldest change of a key that has not been written yet.
//!
//! A change travels with its key: it waits with it, goes to the worker at the hand-out, comes back with a retry, and ends
//! when a sync succeeds. So one time for each place of a key is enough, and no table is needed.

use std::time::Instant;

/// The oldest change of a key that has not been written yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unwritten {
    /// The time at which the key was added for it.
    pub(super) since: Instant,
    /// True if a sync found that something is to be written. A later one that succeeds without a write only confirms it.
    pub(super) needs_write: bool,
}

impl Unwritten {
    /// A change that was seen now.
    pub(super) fn seen(now: Instant) -> Self {
        Self { since: now, needs_write: false }
    }
}

/// Both changes as one.
pub(super) fn merged(one: Option<Unwritten>, other: Option<Unwritten>) -> Option<Unwritten> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Unwritten {
            since: one.since.min(other.since),
            needs_write: one.needs_write || other.needs_write,
        }),
        (one, other) => one.or(other),
    }
}
