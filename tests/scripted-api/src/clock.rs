//! A paused clock that stands still while sockets and files work.

use std::sync::mpsc;

use crate::LIMIT;

/// While this exists, `tokio::time::advance` alone moves the paused clock of the runtime.
///
/// Without it the clock jumps to the next timer whenever all tasks wait, also if they wait for a socket. It does not jump
/// while a thread blocks.
#[must_use = "the clock jumps again when this is dropped"]
pub struct Still {
    /// The thread blocks until this is dropped.
    _blocks: mpsc::Sender<()>,
}

impl Still {
    /// Keeps the clock still, for [`LIMIT`] at most: then it jumps, and a test that waits in vain fails. The runtime has
    /// to be one with `start_paused`.
    pub fn keep() -> Self {
        let (blocks, ended) = mpsc::channel::<()>();
        drop(tokio::task::spawn_blocking(move || ended.recv_timeout(LIMIT)));
        Self { _blocks: blocks }
    }
}
