//! The turn to write: of this process, or of another writer of the same objects. Pure; the clock is an argument.

use std::collections::HashMap;
use std::mem;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use kube_api::time::Instant;

use crate::pending::Decision;

/// The time for which the other writer may leave a Service wrong.
///
/// kube-controller-manager writes a change within milliseconds, after a foreign change of a slice within a second, and
/// tries again a second after a failure. Several of these fit into it, and it is shorter than the ten seconds after which
/// a kubelet's default readiness probe has failed once.
pub const GRACE: Duration = Duration::from_secs(5);

/// The longest time that a Service waits for a writer that is busy with others: one that has been far behind for so
/// long gets help.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The lead of a change that the other writer has written over one that it has not, from which on the latter counts as
/// overtaken. The other writer's queue is first in, first out, but its workers and batch periods change the order a little.
const OVERTAKEN: Duration = Duration::from_millis(2_500);

/// The state of one controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Turn {
    /// Just started: yields, because another writer may be at work.
    #[default]
    Starting,
    /// Another writer was seen: yields.
    Yielding,
    /// No other writer is at work: writes everything at once.
    Acting,
}

/// The state of one controller, and the Services that wait for the other writer.
///
/// Memory: an entry for each Service that is out of sync.
#[derive(Debug, Default)]
pub(super) struct Mode {
    turn: Turn,
    last_foreign_write: Option<Instant>,
    /// The latest time at which a change was seen that the other writer has written.
    reached: Option<Instant>,
    waiting: HashMap<ObjectKey, Waiting>,
}

/// A Service that is out of sync.
#[derive(Debug)]
struct Waiting {
    /// The time at which the change was seen.
    first: Instant,
    /// The time at which it was first found out of sync, or of the last foreign write of its objects. With many keys in
    /// the queue, as at a start, the look comes long after the change.
    since: Instant,
    /// Its time is over: it is synced, and retried until that succeeds.
    due: bool,
}

/// A decision, and the turn that it began.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) decision: Decision,
    pub(super) begins_to_act: bool,
}

impl Mode {
    pub(super) fn turn(&self) -> Turn {
        self.turn
    }

    /// True if this Service waits for the other writer.
    pub(super) fn awaits(&self, key: &ObjectKey) -> bool {
        self.waiting.contains_key(key)
    }

    /// Records a foreign write of an object of this Service, whose oldest unwritten change was seen at `seen`. Returns true
    /// if this controller begins to yield to the writer.
    pub(super) fn foreign_write(&mut self, key: &ObjectKey, seen: Instant, now: Instant) -> bool {
        self.last_foreign_write = Some(now);
        if let Some(waiting) = self.waiting.get_mut(key) {
            // More writes of the same Service may follow.
            waiting.since = now;
            waiting.due = false;
        }
        self.reached = self.reached.max(Some(seen));
        mem::replace(&mut self.turn, Turn::Yielding) != Turn::Yielding
    }

    /// Decides about the sync of a Service, whose oldest unwritten change was seen at `seen`.
    pub(super) fn decide(
        &mut self,
        key: &ObjectKey,
        seen: Instant,
        out_of_sync: bool,
        now: Instant,
    ) -> Decided {
        let decided = |decision| Decided { decision, begins_to_act: false };
        if self.turn == Turn::Acting {
            return decided(Decision::Sync);
        }
        if !out_of_sync {
            self.waiting.remove(key);
            // A sync would read the cache again, and could write a change that came meanwhile.
            let in_sync = if self.turn == Turn::Yielding { Decision::Skip } else { Decision::Sync };
            return decided(in_sync);
        }
        let new = Waiting { first: seen, since: now, due: false };
        let waiting = self.waiting.entry(key.clone()).or_insert(new);
        let rest = GRACE.saturating_sub(now.saturating_duration_since(waiting.since));
        let is_over = rest.is_zero();
        // The time until the other writer has been silent for the grace.
        let busy = self
            .last_foreign_write
            .map_or(Duration::ZERO, |last| GRACE.saturating_sub(now.saturating_duration_since(last)));
        if is_over && busy.is_zero() {
            self.turn = Turn::Acting;
            self.waiting.clear();
            return Decided { decision: Decision::Sync, begins_to_act: true };
        }
        let is_overtaken =
            self.reached.is_some_and(|reached| reached.saturating_duration_since(waiting.since) >= OVERTAKEN);
        let left = LIMIT.saturating_sub(now.saturating_duration_since(waiting.first));
        waiting.due |= is_over && is_overtaken || left.is_zero();
        if waiting.due {
            return decided(Decision::Sync);
        }
        decided(Decision::After(if is_over { busy } else { rest }.min(left)))
    }

    /// Records that a sync of this Service ended. One that succeeded has written what the other writer left.
    pub(super) fn synced(&mut self, key: &ObjectKey, succeeded: bool) {
        if succeeded {
            self.waiting.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
