//! The cluster as the server shows it, and what the program did to it.

use std::sync::atomic::AtomicU64;

use crate::kinds::Objects;
use crate::tally::Tally;
use crate::watchers::Watchers;

/// The objects, the open watches, and counts of requests.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) objects: Objects,
    pub(crate) watchers: Watchers,
    pub(crate) slices: Tally,
    pub(crate) endpoints: Tally,
    /// Writes of slices and Endpoints.
    pub(crate) writes: AtomicU64,
    /// Requests for anything else than the five kinds, such as events.
    pub(crate) others: AtomicU64,
    /// Bytes of lists, streamed or not.
    pub(crate) listed: AtomicU64,
    pub(crate) lists: AtomicU64,
}

impl Cluster {
    pub(crate) fn new(objects: Objects) -> Self {
        let pods = objects.world.pods;
        Self {
            objects,
            watchers: Watchers::new(),
            slices: Tally::new(pods),
            endpoints: Tally::new(pods),
            writes: AtomicU64::default(),
            others: AtomicU64::default(),
            listed: AtomicU64::default(),
            lists: AtomicU64::default(),
        }
    }
}
