//! Leadership: the fence around writes.

use std::time::Duration;

use crate::time::{Instant, sleep_until, timeout_at};
use tokio::sync::watch;

/// The state of an election. It only goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadershipState {
    /// This process does not lead yet.
    Standby,
    /// This process leads.
    Leading {
        /// The end of leadership unless it is renewed.
        until: Instant,
        /// The time since which no other process has led.
        alone_since: Instant,
    },
    /// The election has ended; this process leads no more.
    Over,
}

impl LeadershipState {
    fn held_until(self) -> Option<Instant> {
        match self {
            Self::Leading { until, .. } if Instant::now() < until => Some(until),
            _ => None,
        }
    }
}

/// The permission of this process to write. Cheap to clone.
///
/// It expires by the clock: even if the elector does not get to run, leadership ends before another process can acquire
/// the Lease.
#[derive(Clone, Debug)]
pub struct Leadership(watch::Receiver<LeadershipState>);

impl Leadership {
    /// Leadership in standby, and the sender with which its elector updates the state.
    pub fn new() -> (watch::Sender<LeadershipState>, Self) {
        let (sender, receiver) = watch::channel(LeadershipState::Standby);
        (sender, Self(receiver))
    }

    /// True if this process leads. Cost: one read of the clock.
    pub fn is_held(&self) -> bool {
        self.held_until().is_some()
    }

    /// The time since which no other process has led: when this process first saw the Lease free, perhaps long before
    /// it led. `None` if this process doesn't lead.
    pub fn alone_since(&self) -> Option<Instant> {
        match *self.0.borrow() {
            LeadershipState::Leading { alone_since, .. } => Some(alone_since),
            LeadershipState::Standby | LeadershipState::Over => None,
        }
    }

    fn held_until(&self) -> Option<Instant> {
        self.0.borrow().held_until()
    }

    /// Waits until this process leads. False if the election ends without that.
    pub async fn gained(&self) -> bool {
        let mut state = self.0.clone();
        let gained = state.wait_for(|state| *state != LeadershipState::Standby).await;
        gained.is_ok_and(|state| state.held_until().is_some())
    }

    /// Waits until this process no longer leads; returns at once if it doesn't. Lost leadership is never regained.
    pub async fn lost(&self) {
        let mut state = self.0.clone();
        loop {
            let Some(until) = state.borrow_and_update().held_until() else { return };
            if let Ok(Err(_)) = timeout_at(until, state.changed()).await {
                // The elector is gone, so there are no more renewals.
                sleep_until(until).await;
            }
        }
    }

    /// Runs work that only the leader may do. `None` if this process doesn't lead or loses leadership before the work
    /// is done; the work is then dropped.
    pub async fn while_held<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.lost() => None,
            done = work => Some(done),
        }
    }

    /// The time since leadership expired without the elector having noticed, which means that it doesn't get to run;
    /// for a health check (upstream's `leaderElection` fails 20 s after the lease duration).
    pub fn overdue(&self) -> Option<Duration> {
        match *self.0.borrow() {
            LeadershipState::Leading { until, .. } => Instant::now().checked_duration_since(until),
            LeadershipState::Standby | LeadershipState::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn in_seconds(n: u32) -> LeadershipState {
        LeadershipState::Leading { until: Instant::now() + n * SECOND, alone_since: Instant::now() }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_held_from_the_grant_to_the_last_renewal() {
        let (elector, leadership) = Leadership::new();
        let start = Instant::now();
        assert!(!leadership.is_held());
        leadership.lost().await;
        assert_eq!((start.elapsed(), leadership.overdue()), (Duration::ZERO, None), "nothing to lose");

        let renewals = async {
            tokio::time::sleep(3 * SECOND).await;
            elector.send_replace(in_seconds(10));
            tokio::time::sleep(9 * SECOND).await;
            elector.send_replace(in_seconds(10));
        };
        let observer = async {
            assert!(leadership.gained().await);
            assert_eq!(start.elapsed(), 3 * SECOND);
            leadership.lost().await;
            assert_eq!(start.elapsed(), 22 * SECOND);
        };
        tokio::join!(renewals, observer);
        assert!(!leadership.is_held());
        tokio::time::advance(SECOND).await;
        assert_eq!(leadership.overdue(), Some(SECOND));
        elector.send_replace(LeadershipState::Over);
        assert_eq!(leadership.overdue(), None);
        assert!(!leadership.gained().await, "it is over");
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_by_the_clock_when_the_elector_is_gone() {
        let (elector, leadership) = Leadership::new();
        elector.send_replace(in_seconds(10));
        drop(elector);
        let start = Instant::now();
        assert!(leadership.gained().await && leadership.is_held());
        leadership.lost().await;
        assert_eq!(start.elapsed(), 10 * SECOND);
        assert!(!leadership.is_held() && !leadership.gained().await);

        let (elector, leadership) = Leadership::new();
        drop(elector);
        assert!(!leadership.gained().await);
    }

    /// As after SIGSTOP: no task ran while the time passed.
    #[tokio::test(start_paused = true)]
    async fn a_suspended_process_does_not_lead() {
        let (elector, leadership) = Leadership::new();
        elector.send_replace(in_seconds(10));
        tokio::time::advance(10 * SECOND).await;
        assert!(!leadership.is_held());
        assert_eq!(leadership.while_held(async { "written" }).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_dropped_when_leadership_is_lost() {
        let (elector, leadership) = Leadership::new();
        assert_eq!(leadership.while_held(async { 1 }).await, None);
        elector.send_replace(in_seconds(10));
        assert_eq!(leadership.while_held(async { 2 }).await, Some(2));
        let start = Instant::now();
        assert_eq!(leadership.while_held(tokio::time::sleep(11 * SECOND)).await, None);
        assert_eq!(start.elapsed(), 10 * SECOND);
        elector.send_replace(in_seconds(10));
        let work = leadership.while_held(std::future::pending::<()>());
        let end = async {
            tokio::time::sleep(SECOND).await;
            elector.send_replace(LeadershipState::Over);
        };
        let (outcome, ()) = tokio::join!(work, end);
        assert_eq!((outcome, start.elapsed()), (None, 11 * SECOND));
    }
}
