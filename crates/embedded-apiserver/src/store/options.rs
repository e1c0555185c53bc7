//! The bounds of the log.

/// Bounds of the history that a store keeps for lists at older versions and for watches that resume.
///
/// A real cluster compacts by time (five minutes); this store compacts by size, so that it needs no timer and its memory is
/// bounded under any load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreOptions {
    /// Number of events.
    pub(crate) history_events: usize,
    /// Bytes of the superseded and deleted objects that only events refer to.
    pub(crate) history_bytes: usize,
}

impl Default for StoreOptions {
    /// A million events and 256 MiB.
    fn default() -> Self {
        Self { history_events: 1 << 20, history_bytes: 256 << 20 }
    }
}
