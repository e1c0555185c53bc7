//! Waiting until a queue has no more work.

use std::pin::pin;

use super::{QueueKey, WorkQueue};

impl<K: QueueKey> WorkQueue<K> {
    /// Waits until the queue is [idle](Self::idle_now), and returns the keys that keep failing.
    ///
    /// Never returns without a worker, or while a key is added again and again.
    pub async fn idle(&self, patience: u32) -> Vec<K> {
        loop {
            let mut woken = pin!(self.shared.resting.notified());
            woken.as_mut().enable();
            if let Some(failing) = self.idle_now(patience) {
                return failing;
            }
            woken.await;
        }
    }

    /// The keys that keep failing, if the queue is idle: a worker waits for a key, and there is none, except those that
    /// have failed at least `patience` times in a row and wait for their next retry. `None` if it is not.
    ///
    /// Cost: O(n) in the number of delayed keys, under the queue's lock.
    pub fn idle_now(&self, patience: u32) -> Option<Vec<K>> {
        self.shared.core.lock().idle(patience)
    }

    /// A number that grows with each add of a key that was not queued, and each delayed add. Between two moments at which
    /// the queue was idle, nothing happened if the number is the same.
    pub fn activity(&self) -> u64 {
        self.shared.core.lock().activity()
    }
}
