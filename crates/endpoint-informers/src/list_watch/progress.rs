//! The progress of the lists of one kind.

use kube_api::time::Instant;
use parking_lot::Mutex;
use tokio::sync::watch;

/// Written by a list-watch, read by callers that wait for its lists.
#[derive(Debug)]
pub(super) struct Progress {
    lists: watch::Sender<Lists>,
    /// The time at which any part of a list last arrived; at first, the time of creation.
    moved: Mutex<Instant>,
}

/// The times of list requests, and the state of the watch after them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lists {
    /// The request of the latest list, whatever its outcome.
    pub(super) requested: Option<Instant>,
    /// The request of the latest complete list.
    pub(crate) complete: Option<Instant>,
    /// A watch continues from that list: the server has accepted it, and it has not ended.
    pub(super) live: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self { lists: watch::Sender::default(), moved: Mutex::new(Instant::now()) }
    }
}

impl Progress {
    /// Records that a list is about to be requested.
    pub(super) fn requested(&self) {
        let requested = Some(Instant::now());
        self.lists.send_modify(|lists| *lists = Lists { requested, live: false, ..*lists });
    }

    /// Records that an object or a page of a list has arrived.
    pub(super) fn moved(&self) {
        *self.moved.lock() = Instant::now();
    }

    /// Records that the list requested last is complete.
    pub(super) fn complete(&self) {
        self.moved();
        self.lists.send_modify(|lists| *lists = Lists { complete: lists.requested, live: true, ..*lists });
    }

    /// Records that a watch that continues from the last list has begun or ended.
    pub(super) fn set_live(&self, live: bool) {
        self.lists.send_if_modified(|lists| std::mem::replace(&mut lists.live, live) != live);
    }

    /// The time at which any part of a list last arrived.
    pub(super) fn last_moved(&self) -> Instant {
        *self.moved.lock()
    }

    pub(super) fn lists(&self) -> watch::Receiver<Lists> {
        self.lists.subscribe()
    }
}
