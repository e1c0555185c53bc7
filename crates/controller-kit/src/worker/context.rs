//! The context of one sync: its declarations to the worker that runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

use crate::key::ObjectKey;
use crate::write_order::{Admission, WriteOrder};

/// The right to plan; dropped when planning ends, and at the latest with the sync.
pub(super) type PlanningPermit = OwnedSemaphorePermit;

/// The worker's side of one sync: what the sync declares to it. The default is that of a sync without a worker.
///
/// Cost of a clone: a counter.
#[derive(Clone, Debug, Default)]
pub struct SyncContext(Arc<Declared>);

#[derive(Debug, Default)]
struct Declared {
    permit: Mutex<Option<PlanningPermit>>,
    writes: AtomicBool,
    /// The order of the controller's writes, and the key of this sync.
    order: Option<(WriteOrder, ObjectKey)>,
    waits: AtomicBool,
    /// Writes whose tokens are taken.
    prepaid: AtomicUsize,
}

impl SyncContext {
    pub(super) fn new(permit: PlanningPermit, order: Option<(WriteOrder, ObjectKey)>) -> Self {
        Self(Arc::new(Declared { permit: Mutex::new(Some(permit)), order, ..Declared::default() }))
    }

    /// Asks for this number of writes of a [level](crate::write_order). Returns how many of them may be made now; if that is
    /// none, the sync is to end successfully, and comes again when its turn has come. Without an order, all may be made.
    ///
    /// To be called once in a sync, before its first write; not if there is nothing to write.
    pub fn admit(&self, level: usize, writes: usize) -> usize {
        let Some((order, key)) = &self.0.order else { return writes };
        match order.admit(key, level, writes) {
            Admission::Writes(admitted) => {
                self.0.prepaid.store(admitted, Ordering::Relaxed);
                admitted
            }
            Admission::Waits => {
                self.0.waits.store(true, Ordering::Relaxed);
                // It has found something to write.
                self.begin_write();
                0
            }
        }
    }

    /// True if the key [waits](Self::admit) for its turn: the sync has written nothing.
    pub fn waits(&self) -> bool {
        self.0.waits.load(Ordering::Relaxed)
    }

    /// The writes that were admitted and not made.
    pub(super) fn unused(&self) -> u32 {
        u32::try_from(self.0.prepaid.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
    }

    /// Takes one of the writes whose tokens are taken.
    pub(crate) fn take_prepaid(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.0.prepaid.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Declares that the sync has made its plan, and has only requests left: another key may be planned meanwhile, up to
    /// [`Concurrency::in_flight`](super::Concurrency::in_flight). The key of this sync stays exclusive.
    ///
    /// To be called before the first request, and not while a large plan is held. Does nothing if it was called before.
    pub fn end_planning(&self) {
        drop(self.0.permit.lock().take());
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
