//! The two priorities of a key.

/// The priority of a queued key, as in controller-runtime's priority queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Work that may wait for changes: initial keys, and retries beyond the shared rate.
    Low,
    /// A change in the cluster.
    Normal,
}

/// The number of keys with [`Priority::Normal`] that are handed out for each key with [`Priority::Low`], while both
/// wait.
///
/// Start-up with thousands of keys costs changes an eighth of the workers' time, and it ends although changes never
/// stop.
pub const NORMAL_PER_LOW: u32 = 8;
