//! The count of lost events.

use std::sync::atomic::{AtomicU64, Ordering};

use tracing::{debug, warn};

/// The number of lost events.
#[derive(Debug, Default)]
pub(super) struct Losses(AtomicU64);

impl Losses {
    /// Counts and logs a loss; as a warning each time the count reaches a power of two.
    pub(super) fn add(&self, event: &str, err: &str) {
        let lost = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        if lost.is_power_of_two() {
            warn!(event, lost, err, "Event lost");
        } else {
            debug!(event, lost, err, "Event lost");
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
