//! The open watches, and the version of the cluster.

use std::sync::Mutex;

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::kinds::Kind;
use crate::wire;
use crate::world::LISTED_AT;

/// The watches of all kinds.
#[derive(Debug)]
pub(crate) struct Watchers {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    version: u64,
    open: [Vec<UnboundedSender<Bytes>>; Kind::ALL.len()],
}

impl Watchers {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State { version: LISTED_AT, open: Default::default() }) }
    }

    /// Opens a watch, which receives every later event.
    pub(crate) fn open(&self, kind: Kind) -> UnboundedReceiver<Bytes> {
        let (sender, receiver) = unbounded_channel();
        self.state.lock().expect("a lock").open[kind as usize].push(sender);
        receiver
    }

    /// Makes `count` changes of a kind. `make` gets the first version, and returns the frames of their events.
    pub(crate) fn change<T>(&self, kind: Kind, count: u64, make: impl FnOnce(u64) -> (Vec<u8>, T)) -> T {
        let mut state = self.state.lock().expect("a lock");
        let first = state.version + 1;
        state.version += count;
        let (frames, result) = make(first);
        send(&mut state.open[kind as usize], frames);
        result
    }

    /// Sends a bookmark to every watch, as an API server does each minute.
    pub(crate) fn bookmark(&self) {
        let mut state = self.state.lock().expect("a lock");
        for kind in Kind::ALL {
            let mut frame = Vec::new();
            wire::bookmark(&mut frame, kind.types(), state.version, false);
            send(&mut state.open[kind as usize], frame);
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.state.lock().expect("a lock").version
    }
}

fn send(open: &mut Vec<UnboundedSender<Bytes>>, frames: Vec<u8>) {
    let frames = Bytes::from(frames);
    open.retain(|watch| watch.send(frames.clone()).is_ok());
}
