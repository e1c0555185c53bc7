//! How far the lists of one kind have come.

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// Written by a list-watch, read by whoever waits for its lists.
#[derive(Debug)]
pub(super) struct Progress {
    lists: watch::Sender<Lists>,
    /// When something of a list came last; at first, when this was made.
    moved: Mutex<Instant>,
}

/// When lists were asked for, and whether what came of them is kept up to date.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lists {
    /// The latest, whatever became of it.
    pub(super) asked: Option<Instant>,
    /// The latest that was complete.
    pub(super) complete: Option<Instant>,
    /// A watch goes on from there: the server has accepted it, and it has not ended.
    pub(super) live: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self { lists: watch::Sender::default(), moved: Mutex::new(Instant::now()) }
    }
}

impl Progress {
    /// A list is about to be asked for.
    pub(super) fn asked(&self) {
        self.lists.send_modify(|lists| *lists = Lists { asked: Some(Instant::now()), live: false, ..*lists });
    }

    /// An object or a page of a list has come.
    pub(super) fn moved(&self) {
        *self.moved.lock() = Instant::now();
    }

    /// The list that was asked for last is complete.
    pub(super) fn complete(&self) {
        self.moved();
        self.lists.send_modify(|lists| *lists = Lists { complete: lists.asked, live: true, ..*lists });
    }

    /// A watch that goes on from the last list has begun or ended.
    pub(super) fn set_live(&self, live: bool) {
        self.lists.send_if_modified(|lists| std::mem::replace(&mut lists.live, live) != live);
    }

    /// When something of a list came last.
    pub(super) fn last_moved(&self) -> Instant {
        *self.moved.lock()
    }

    pub(super) fn lists(&self) -> watch::Receiver<Lists> {
        self.lists.subscribe()
    }
}
