//! Keys of a work queue.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

/// A key of a work queue: anything cheap to clone that names something to sync.
pub trait QueueKey: Clone + Eq + Hash + Debug + Send + 'static {}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> QueueKey for K {}

/// A hash table whose order is never used.
pub(super) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The capacity that an empty collection keeps: enough for steady state, not for another start-up or outage.
pub(super) const KEPT_CAPACITY: usize = 64;

/// Gives back the memory of a table that is empty after a burst.
pub(super) fn shrink_if_empty<K: Eq + Hash, V>(map: &mut Map<K, V>) {
    if map.is_empty() {
        map.shrink_to(KEPT_CAPACITY);
    }
}
