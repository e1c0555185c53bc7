//! The Lease of the process: contend for it, hold it, release it.

use std::future::pending;

use controller_kit::election::{
    Config, ElectionMetrics, Elector, Identity, Leadership, LeaseEvents, LeaseLock, LeaseLost,
};
use controller_kit::environment::{spawn_in, spawn_on};
use controller_kit::recorder::{EventWriter, Recorder};
use kube_api::time::{Instant, timeout};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tracing::warn;

use super::controllers::EVENTS_TIMEOUT;
use super::error::LifecycleError;

/// An election in which this process does not contend yet.
pub struct PendingElection {
    elector: Elector,
    leadership: Leadership,
    events: EventWriter,
    runtime: Handle,
}

impl PendingElection {
    /// An election for the Lease of `lock`, whose requests are sent on the runtime of the caller. That should be one that
    /// syncs don't keep busy, and the client of `lock` should have connections of its own.
    ///
    /// Events about the Lease are recorded and written by `events`, on the runtime of the
    /// [`Lifecycle`](super::Lifecycle).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn new(
        timing: Config,
        lock: LeaseLock,
        identity: Identity,
        (recorder, events): (Recorder, EventWriter),
        metrics: ElectionMetrics,
    ) -> Self {
        let (elector, leadership) = Elector::new(timing, lock, identity, recorder, metrics);
        Self { elector, leadership, events, runtime: Handle::current() }
    }

    /// Reads the Lease. If it is free now and until this process acquires it, lists that are requested from now on hold
    /// all that previous leaders wrote ([`Elector::observe`]).
    ///
    /// # Errors
    ///
    /// Only if the task panicked; a failed request is logged.
    pub async fn observe(self) -> Result<Self, JoinError> {
        let Self { mut elector, leadership, events, runtime } = self;
        let elector = spawn_on(&runtime, async move {
            elector.observe().await;
            elector
        });
        Ok(Self { elector: elector.await?, leadership, events, runtime })
    }

    /// The leadership of this process, for the clients of its controllers.
    pub fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Events about the Lease, for others to record. They are written once this process contends.
    pub fn lease_events(&self) -> LeaseEvents {
        self.elector.events()
    }

    /// Contends from now on. Events are written on the runtime `events`.
    pub(super) fn contend(self, events: &Handle) -> LeaseHandle {
        let (release, released) = oneshot::channel::<()>();
        let (last_event, no_more_events) = oneshot::channel::<()>();
        let mut elector = JoinSet::new();
        spawn_in(&mut elector, &self.runtime, self.elector.run(sent(released)));
        LeaseHandle {
            leadership: self.leadership,
            elector: RunningElector { task: elector, outcome: Ok(()) },
            events: spawn_on(events, self.events.run(async move { drop(no_more_events.await) })),
            release,
            last_event,
        }
    }
}

/// An election under way. If this is dropped, the Lease is renewed no more, and expires.
pub(super) struct LeaseHandle {
    leadership: Leadership,
    elector: RunningElector,
    events: JoinHandle<()>,
    /// Releases the Lease. If this is dropped unused, the Lease expires instead.
    release: oneshot::Sender<()>,
    /// Dropped when no more events will be recorded.
    last_event: oneshot::Sender<()>,
}

impl LeaseHandle {
    /// Waits until this process leads, and returns since when no other process has written; `None` if it never will.
    pub(super) async fn acquired(&self) -> Option<Instant> {
        self.leadership.gained().await;
        self.leadership.alone_since()
    }

    /// Waits until this process must not write any more. May be called again.
    pub(super) async fn lost(&mut self) -> LifecycleError {
        self.leadership.lost().await;
        let outcome = self.elector.ended().await;
        outcome.err().unwrap_or_else(|| ended("it was stopped"))
    }

    /// Releases the Lease. Nothing may write any more.
    pub(super) async fn release(mut self) -> Result<(), LifecycleError> {
        // Fails only if the election is over, which its outcome reports.
        let _ = self.release.send(());
        let outcome = self.elector.ended().await;
        drop(self.last_event);
        let _ = timeout(EVENTS_TIMEOUT, self.events).await;
        outcome
    }

    /// Lets the Lease expire, because a write may still arrive.
    pub(super) fn abandon(self) {
        drop(self);
        warn!("Not releasing the lease because writes may still be in progress; it will expire");
    }
}

/// The task that renews the Lease; cancelled when this is dropped.
struct RunningElector {
    /// Empty after its end.
    task: JoinSet<Result<(), LeaseLost>>,
    /// `Ok` until its end.
    outcome: Result<(), LifecycleError>,
}

impl RunningElector {
    /// Waits for the end of the election, and returns its outcome; each time the same. May be cancelled.
    async fn ended(&mut self) -> Result<(), LifecycleError> {
        if let Some(outcome) = self.task.join_next().await {
            self.outcome = outcome_of(outcome);
        }
        self.outcome.clone()
    }
}

/// Waits for a message; a sender that is dropped sends none.
async fn sent(receiver: oneshot::Receiver<()>) {
    if receiver.await.is_err() {
        pending().await
    }
}

fn outcome_of(elector: Result<Result<(), LeaseLost>, JoinError>) -> Result<(), LifecycleError> {
    elector.map_err(|error| ended(&error.to_string()))?.map_err(LifecycleError::LeaseLost)
}

fn ended(why: &str) -> LifecycleError {
    LifecycleError::TaskEnded(format!("the leader election: {why}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube_api::{ApiClient, Encoding, connect};

    use super::*;

    /// An election that sends no request, whose elector is this future.
    fn handle(elector: impl Future<Output = Result<(), LeaseLost>> + Send + 'static) -> LeaseHandle {
        handle_with(oneshot::channel().0, elector)
    }

    fn handle_with(
        release: oneshot::Sender<()>,
        elector: impl Future<Output = Result<(), LeaseLost>> + Send + 'static,
    ) -> LeaseHandle {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let client = ApiClient::new(connect(&config).unwrap(), Encoding::Json, "test");
        let events = Recorder::new(client.clone(), "test");
        let lock = LeaseLock::new(client, "kube-system", "test");
        let (identity, metrics) = (Identity::unique("test"), ElectionMetrics::default());
        let leadership =
            PendingElection::new(Config::default(), lock, identity, events, metrics).leadership();
        let mut task = JoinSet::new();
        task.spawn(elector);
        let elector = RunningElector { task, outcome: Ok(()) };
        let events = tokio::spawn(async {});
        LeaseHandle { leadership, elector, events, release, last_event: oneshot::channel().0 }
    }

    #[tokio::test]
    async fn a_release_reports_a_lease_that_was_lost_before() {
        const LOST: &str = "leader election lost: lease ns/lease was taken by other";
        handle(async { Ok(()) }).release().await.unwrap();
        let taken = || LeaseLost::Taken { lease: "ns/lease".to_owned(), holder: "other".to_owned() };
        let (first, second) = (taken(), taken());
        let lost = handle(async { Err(first) }).release().await.unwrap_err();
        assert_eq!(kube_api::error_chain(&lost), LOST);

        let mut handle = handle(async { Err(second) });
        for _ in 0..2 {
            assert_eq!(kube_api::error_chain(&handle.lost().await), LOST);
        }
        assert_eq!(
            kube_api::error_chain(&handle.release().await.unwrap_err()),
            LOST,
            "reported twice before"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_lease_is_not_released() {
        let (release, released) = oneshot::channel();
        let released = tokio::spawn(sent(released));
        handle_with(release, async { Ok(()) }).abandon();
        assert!(timeout(Duration::from_secs(3600), released).await.is_err(), "released");

        let (release, released) = oneshot::channel();
        let released = tokio::spawn(sent(released));
        handle_with(release, async { Ok(()) }).release().await.unwrap();
        released.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_abandoned_or_dropped_is_renewed_no_more() {
        let ends: [fn(LeaseHandle); 2] = [LeaseHandle::abandon, drop];
        for end in ends {
            let (renewing, cancelled) = oneshot::channel::<()>();
            end(handle(async move {
                pending::<()>().await;
                drop(renewing);
                Ok(())
            }));
            let cancelled = timeout(Duration::from_secs(3600), cancelled).await.expect("it is renewed");
            cancelled.unwrap_err();
        }
    }
}
