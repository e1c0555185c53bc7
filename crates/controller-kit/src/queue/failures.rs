//! Queries of the queue: the failures of a key, the keys that fail or wait for the rate limit, the state and the last error of a
//! key.

use kube_api::time::Instant;

use super::change_metrics::FailingCounts;
use super::{Cause, FailureReason, KeyState, QueueKey, Shared, WorkQueue, reason};

impl<K: QueueKey> WorkQueue<K> {
    /// The number of consecutive failures of `key`; of its fingerprints, the highest.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.shared.core.lock().failures(key)
    }

    /// The keys whose last sync failed, in no particular order: what the queue remembers about keys that are not queued.
    pub fn failing(&self) -> Vec<K> {
        self.shared.core.lock().failing().map(|(key, _)| key.clone()).collect()
    }

    /// The keys whose plan waits for its [turn](crate::write_order) to be written, with its urgency, in no particular order.
    pub fn waiting_to_write(&self) -> Vec<(K, &'static str)> {
        self.shared.core.lock().waiting_to_write().map(|(key, urgency)| (key.clone(), urgency)).collect()
    }

    /// The state of a key; none if nothing is known about it, because its last sync succeeded and nothing has changed since.
    pub fn key_state(&self, key: &K) -> Option<KeyState> {
        self.shared.core.lock().key_state(key, Instant::now().into_std())
    }

    /// Keeps the error of a sync for [`key_state`](Self::key_state), after its [`retry`](Self::retry). Nothing is kept of a
    /// key that did not fail, or if [`MAX_ERRORS`](super::MAX_ERRORS) others have theirs kept.
    pub fn keep_error(&self, key: &K, causes: &[Cause], text: &str) {
        self.shared.core.lock().keep_error(key, reason(causes), text, Instant::now().into_std());
    }
}

impl<K: QueueKey> Shared<K> {
    /// The number of keys that failed and have not succeeded since, by the reason of the last failure.
    pub(super) fn failing(&self) -> FailingCounts {
        let mut counts = FailureReason::ALL.map(|reason| (reason, 0));
        for (_, reason) in self.core.lock().failing() {
            counts.iter_mut().filter(|(known, _)| Some(*known) == reason).for_each(|(_, count)| *count += 1);
        }
        counts
    }
}
