//! Keys of a work queue.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

/// A key of a work queue: anything cheap to clone that names something to sync.
pub trait QueueKey: Clone + Eq + Hash + Debug + Send + 'static {}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> QueueKey for K {}

/// A hash table whose order is never used.
pub(super) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
