//! The running sync: its turn, and whether it writes.

use std::cell::Cell;

use tokio::sync::OwnedSemaphorePermit;

/// The right to plan; dropped when planning ends, and at the latest with the sync.
pub(super) type Turn = OwnedSemaphorePermit;

struct RunningSync {
    turn: Cell<Option<Turn>>,
    writes: Cell<bool>,
}

tokio::task_local! {
    static RUNNING: RunningSync;
}

/// Declares that the running sync has made its plan, and has only requests left: another key may be planned meanwhile, up to
/// [`Concurrency::in_flight`](super::Concurrency::in_flight). The key of this sync stays exclusive.
///
/// To be called before the first request, and not while a large plan is held. Does nothing outside a worker, or if it was
/// called before.
pub fn end_planning() {
    let _ = RUNNING.try_with(|running| running.turn.take());
}

/// Declares that the running sync found something to write: its success is the write of its change, and is
/// [measured](crate::queue::WorkQueue::needs_write). An [`ObjectWriter`](crate::write::ObjectWriter) calls this. Does nothing
/// outside a worker.
pub fn begin_write() {
    let _ = RUNNING.try_with(|running| running.writes.set(true));
}

/// Runs a sync that has its turn. Also returns whether it found something to write.
pub(super) fn within<F: Future>(turn: Turn, sync: F) -> impl Future<Output = (F::Output, bool)> {
    let running = RunningSync { turn: Cell::new(Some(turn)), writes: Cell::new(false) };
    RUNNING.scope(running, async {
        let output = sync.await;
        (output, RUNNING.with(|running| running.writes.get()))
    })
}
