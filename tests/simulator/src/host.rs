//! The environment of a process: its clocks, and whether it runs, is frozen or dead.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use controller_kit::environment::Environment;
use jiff::Timestamp;
use kube_api::time::Clock;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::clocks::Clocks;
use crate::world::{Started, World};

/// The environment of one process.
pub struct Host {
    pub replica: usize,
    pub started: Started,
    state: Mutex<HostState>,
    dead: Notify,
    /// Told when it freezes after some polls.
    froze: Notify,
    clocks: Arc<Clocks>,
    /// The number of requests that the process waits for.
    requests: AtomicUsize,
    /// The number of its watches that work.
    watches: AtomicUsize,
    /// Asks the process to stop.
    terminate: Mutex<Option<oneshot::Sender<()>>>,
}

#[derive(Default)]
struct HostState {
    frozen: bool,
    dead: bool,
    /// Polls until it crashes.
    polls: Option<u64>,
    /// Polls until it freezes.
    polls_to_freeze: Option<u64>,
    waiting: Vec<Waker>,
}

impl Host {
    pub(super) fn new(world: &World, replica: usize, clocks: Arc<Clocks>) -> Arc<Self> {
        Arc::new(Self {
            replica,
            started: world.started(),
            state: Mutex::default(),
            dead: Notify::new(),
            froze: Notify::new(),
            clocks,
            requests: AtomicUsize::new(0),
            watches: AtomicUsize::new(0),
            terminate: Mutex::new(None),
        })
    }

    /// Counts a request until the guard is dropped.
    pub fn waiting(self: &Arc<Self>) -> Counted {
        Counted::new(self, |host| &host.requests)
    }

    /// Counts a watch until the guard is dropped.
    pub fn watching(self: &Arc<Self>) -> Counted {
        Counted::new(self, |host| &host.watches)
    }

    /// True while the process waits for an answer.
    pub fn is_waiting(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0
    }

    /// The number of watches that work.
    pub fn watches(&self) -> usize {
        self.watches.load(Ordering::Relaxed)
    }

    /// Stops the process for ever, as SIGKILL does.
    pub fn kill(&self) {
        self.state.lock().dead = true;
        self.dead.notify_waiters();
    }

    /// True after it was killed.
    pub fn is_dead(&self) -> bool {
        self.state.lock().dead
    }

    /// Kills the process after this many polls of its tasks.
    pub fn kill_after(&self, polls: u64) {
        self.state.lock().polls = Some(polls);
    }

    /// Stops the process, as SIGSTOP does.
    pub fn freeze(&self) {
        self.state.lock().frozen = true;
    }

    /// Stops the process after this many polls of its tasks; completes then.
    pub async fn freeze_after(&self, polls: u64) {
        self.state.lock().polls_to_freeze = Some(polls);
        self.froze.notified().await;
    }

    /// Lets it continue, as SIGCONT does.
    pub fn thaw(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.frozen = false;
            state.polls_to_freeze = None;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// What asks the process to stop, as SIGTERM does.
    pub(super) fn terminates_by(&self, terminate: oneshot::Sender<()>) {
        *self.terminate.lock() = Some(terminate);
    }

    /// Asks the process to stop, as SIGTERM does.
    pub fn terminate(&self) {
        if let Some(terminate) = self.terminate.lock().take() {
            // It may have ended by itself.
            let _ = terminate.send(());
        }
    }

    /// Waits until the process is killed.
    pub async fn died(&self) {
        let dead = self.dead.notified();
        if !self.state.lock().dead {
            dead.await;
        }
    }
}

/// Something of a process that is counted while it lasts.
pub struct Counted {
    host: Arc<Host>,
    count: fn(&Host) -> &AtomicUsize,
}

impl Counted {
    fn new(host: &Arc<Host>, count: fn(&Host) -> &AtomicUsize) -> Self {
        count(host).fetch_add(1, Ordering::Relaxed);
        Self { host: Arc::clone(host), count }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.count)(&self.host).fetch_sub(1, Ordering::Relaxed);
    }
}

impl Clock for Host {
    fn shown_at(&self, runtime: Instant) -> Instant {
        self.clocks.shown_at(runtime)
    }

    fn when_shown(&self, shown: Instant) -> Instant {
        self.clocks.when_shown(shown)
    }
}

impl Environment for Host {
    fn poll_running(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if let Some(polls) = &mut state.polls {
            *polls = polls.saturating_sub(1);
            if *polls == 0 && !state.dead {
                state.dead = true;
                self.dead.notify_waiters();
            }
        }
        if state.dead {
            return Poll::Pending;
        }
        if let Some(polls) = &mut state.polls_to_freeze {
            *polls = polls.saturating_sub(1);
            if *polls == 0 {
                state.polls_to_freeze = None;
                state.frozen = true;
                self.froze.notify_one();
            }
        }
        if state.frozen {
            state.waiting.push(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn now(&self) -> Timestamp {
        self.clocks.wall_clock()
    }
}
