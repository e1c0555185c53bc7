//! A [`WritePolicy`] that leaves the writes to another writer of the same objects while there is one, such as
//! kube-controller-manager with its own controllers still on.
//!
//! ```text
//!              foreign write                     foreign write
//!   Starting ────────────────> Yielding <──────────────────────── Acting
//!      │                          │                                  ^
//!      └──── a Service is out of sync for the grace, without a foreign write ───┘
//! ```
//!
//! Yielding, a Service that is in sync is left alone: a sync would read the cache again, and could write a change that came
//! after the look. Its metrics stay as they were. One that the cache does not know, because it is behind our own write, is synced,
//! which waits for the cache. A Service that is out of sync waits for the other writer:
//!
//! * for the grace ([`GRACE`]), and again after each foreign write of its own objects;
//! * then for as long as the other writer is busy and has not yet reached it. It has passed it when it has written a change
//!   that was seen clearly later; or it has stopped when it has written nothing for the grace. So a writer that is limited to
//!   20 requests a second, as kube-controller-manager is, gets through a thousand Services undisturbed;
//! * at most for [`LIMIT`].
//!
//! A Service that was passed over is written without a change of the turn. If the other writer has stopped, this controller
//! acts from then on, until the next foreign write. A controller starts as if it yielded, so that a start beside a writer at
//! work makes nothing twice.
//!
//! Only writes by another field manager count ([`Repairs::observe`](crate::repairs::Repairs::observe)).
//! A conflict of our own write says no more than the watch event of the write that it met, and that event has the name.

mod mode;

use std::fmt;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use kube_api::time::Instant;
use parking_lot::Mutex;
use tracing::{info, warn};

use self::mode::{Decided, Mode, Turn};
pub use self::mode::{GRACE, LIMIT};
use crate::pending::{Decision, PendingWrite, WritePolicy};

/// A turn that began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Another field manager writes the controller's objects: this process yields to it.
    Yields {
        /// The field manager.
        to: Arc<str>,
    },
    /// The other writer has stopped, or there never was one: this process writes at once.
    Acts,
}

/// The policy of one controller.
pub struct Yielding {
    controller: &'static str,
    state: Mutex<State>,
    report: Box<dyn Fn(&'static str, &Transition) + Send + Sync>,
}

#[derive(Default)]
struct State {
    mode: Mode,
    /// The field manager that wrote last.
    other: Option<Arc<str>>,
}

impl Yielding {
    /// A policy for the controller of this name. Transitions are logged, and passed to `report` with that name. It must not
    /// block, and is called with the lock of the cache held.
    pub fn new(
        controller: &'static str,
        report: impl Fn(&'static str, &Transition) + Send + Sync + 'static,
    ) -> Self {
        Self { controller, state: Mutex::default(), report: Box::new(report) }
    }

    fn begins(&self, transition: &Transition) {
        let (controller, grace) = (self.controller, GRACE);
        match transition {
            Transition::Yields { to } => {
                warn!(
                    controller,
                    manager = &**to,
                    ?grace,
                    "Another client writes the same objects; leaving the writes to it"
                );
            }
            Transition::Acts => info!(controller, "No other client writes the same objects; writing at once"),
        }
        (self.report)(controller, transition);
    }
}

/// The controller and its turn.
impl fmt::Display for Yielding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        let turn = state.mode.turn();
        write!(f, "{} ", self.controller)?;
        match (turn, &state.other) {
            (Turn::Yielding, Some(other)) => write!(f, "yields to {other:?}"),
            (Turn::Acting, _) => f.write_str("acts"),
            (Turn::Starting | Turn::Yielding, _) => f.write_str("looks for another writer"),
        }
    }
}

impl WritePolicy for Yielding {
    fn decide(
        &self,
        key: &ObjectKey,
        seen: Instant,
        pending: &dyn Fn() -> Option<Vec<PendingWrite>>,
    ) -> Decision {
        if self.state.lock().mode.turn() == Turn::Acting {
            return Decision::Sync;
        }
        // Without the lock: a foreign write is recorded with that of the cache held, which planning needs.
        let Some(pending) = pending() else {
            // The sync waits for the cache, or fails and is retried. Nothing would queue a key that is skipped here: the event of
            // our own write is no foreign one.
            return Decision::Sync;
        };
        let out_of_sync = !pending.is_empty();
        let Decided { decision, begins_to_act } =
            self.state.lock().mode.decide(key, seen, out_of_sync, Instant::now());
        if begins_to_act {
            self.begins(&Transition::Acts);
        }
        decision
    }

    fn synced(&self, key: &ObjectKey, succeeded: bool) {
        self.state.lock().mode.synced(key, succeeded);
    }

    fn foreign_write(&self, key: &ObjectKey, seen: Instant, manager: &Arc<str>) {
        let begins = {
            let mut state = self.state.lock();
            state.other = Some(Arc::clone(manager));
            state.mode.foreign_write(key, seen, Instant::now())
        };
        if begins {
            self.begins(&Transition::Yields { to: Arc::clone(manager) });
        }
    }

    fn awaits(&self, key: &ObjectKey) -> bool {
        self.state.lock().mode.awaits(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_which_nothing_is_known_is_synced_in_each_turn() {
        let (policy, key, now) =
            (Yielding::new("test", |_, _| {}), ObjectKey::new("shop", "web"), Instant::now());
        for _ in ["starting", "yielding"] {
            assert_eq!(policy.decide(&key, now, &|| None), Decision::Sync);
            policy.foreign_write(&ObjectKey::new("shop", "db"), now, &"other-client".into());
        }
        assert_eq!(policy.decide(&key, now, &|| Some(Vec::new())), Decision::Skip, "it yields");
    }
}
