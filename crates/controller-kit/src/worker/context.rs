//! The context of one sync: its declarations to the worker that runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

/// The right to plan; dropped when planning ends, and at the latest with the sync.
pub(super) type Turn = OwnedSemaphorePermit;

/// The worker's side of one sync: what the sync declares to it. The default is that of a sync without a worker.
///
/// Cost of a clone: a counter.
#[derive(Clone, Debug, Default)]
pub struct SyncContext(Arc<Declared>);

#[derive(Debug, Default)]
struct Declared {
    turn: Mutex<Option<Turn>>,
    writes: AtomicBool,
}

impl SyncContext {
    pub(super) fn new(turn: Turn) -> Self {
        Self(Arc::new(Declared { turn: Mutex::new(Some(turn)), writes: AtomicBool::new(false) }))
    }

    /// Declares that the sync has made its plan, and has only requests left: another key may be planned meanwhile, up to
    /// [`Concurrency::in_flight`](super::Concurrency::in_flight). The key of this sync stays exclusive.
    ///
    /// To be called before the first request, and not while a large plan is held. Does nothing if it was called before.
    pub fn end_planning(&self) {
        drop(self.0.turn.lock().take());
    }

    /// Declares that the sync found something to write: its success is the write of its change, and is
    /// [measured](crate::queue::WorkQueue::needs_write). An [`ObjectWriter`](crate::write::ObjectWriter) calls this.
    pub fn begin_write(&self) {
        self.0.writes.store(true, Ordering::Relaxed);
    }

    /// True if the sync found something to write.
    pub(super) fn writes(&self) -> bool {
        self.0.writes.load(Ordering::Relaxed)
    }
}
