//! Leader election: the Lease, from the wait for it to its release.

use std::future::pending;
use std::time::Duration;

use controller_kit::election::{ElectionMetrics, Elector, Identity, Leadership, LeaseLock, LeaseLost};
use controller_kit::recorder::{EventWriter, Recorder};
use kube_api::ApiClient;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout};
use tracing::warn;

use crate::config::LeaderElection;
use crate::runtimes::Handles;
use crate::version;

/// For the last events about the Lease.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(2);
/// From the end of a leader's lease to the failure of `/healthz` (upstream: `NewLeaderHealthzAdaptor`).
const HEALTH_TOLERANCE: Duration = Duration::from_secs(20);

/// An election that has not begun.
pub(crate) struct PendingElection {
    elector: Elector,
    events: EventWriter,
    leadership: Leadership,
    /// From the renew deadline to the failure of the health check.
    tolerance: Duration,
    lease: String,
}

impl PendingElection {
    /// An election over `client`, which is neither rate-limited nor bound to leadership, and has connections of its own,
    /// made for the control runtime: those of controllers may be busy, or dead and many. Events go through `events`.
    pub(crate) fn new(
        config: &LeaderElection,
        client: ApiClient,
        events: ApiClient,
        metrics: ElectionMetrics,
    ) -> Self {
        let (recorder, events) = Recorder::new(events, version::NAME);
        let lock = LeaseLock::new(client, &config.namespace, &config.name);
        let identity = Identity::unique(&hostname());
        let (elector, leadership) = Elector::new(config.timing, lock, identity, recorder, metrics);
        let beyond_deadline = config.timing.lease_duration().saturating_sub(config.timing.renew_deadline());
        let tolerance = beyond_deadline + HEALTH_TOLERANCE;
        Self { elector, events, leadership, tolerance, lease: config.name.clone() }
    }

    /// Reads the Lease, so that lists requested from now on may count for a new leader.
    pub(crate) async fn observe(self, handles: &Handles) -> Result<Self, JoinError> {
        let Self { mut elector, events, leadership, tolerance, lease } = self;
        let observed = handles.control.spawn(async move {
            elector.observe().await;
            elector
        });
        Ok(Self { elector: observed.await?, events, leadership, tolerance, lease })
    }

    /// The leadership of this process, for the clients that may write only while it lasts.
    pub(crate) fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// A health check that fails while a leader does not renew and should be restarted.
    pub(crate) fn health(&self) -> impl Fn() -> Result<(), String> + use<> {
        let (leadership, tolerance, lease) = (self.leadership(), self.tolerance, self.lease.clone());
        move || match leadership.overdue() {
            Some(overdue) if overdue > tolerance => {
                Err(format!("failed election to renew leadership on lease {lease}"))
            }
            _ => Ok(()),
        }
    }
}

/// The Lease that the controllers run under; empty without leader election.
pub(crate) struct LeaseHandle(Option<Election>);

/// The result of [`LeaseHandle::acquired`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// Leader election is off.
    NoElection,
    /// This process leads, and no other has written since that time.
    Lease {
        /// By this process' clock.
        alone_since: Instant,
    },
    /// The election ended.
    Never,
}

/// A running election.
struct Election {
    leadership: Leadership,
    task: JoinHandle<Result<(), LeaseLost>>,
    events: JoinHandle<()>,
    /// Releases the Lease. If this is dropped unused, the Lease expires instead.
    release: oneshot::Sender<()>,
    /// Ends the events when it is dropped.
    no_more_events: oneshot::Sender<()>,
}

impl LeaseHandle {
    /// Starts the election.
    pub(crate) fn contend(election: Option<PendingElection>, handles: &Handles) -> Self {
        Self(election.map(|PendingElection { elector, events, leadership, .. }| {
            let (release, released) = oneshot::channel::<()>();
            let (no_more_events, ended) = oneshot::channel::<()>();
            Election {
                leadership,
                task: handles.control.spawn(elector.run(sent(released))),
                events: handles.work.spawn(events.run(async move { drop(ended.await) })),
                release,
                no_more_events,
            }
        }))
    }

    /// Waits until this process leads, or never will.
    pub(crate) async fn acquired(&self) -> Acquired {
        let Some(Election { leadership, .. }) = &self.0 else { return Acquired::NoElection };
        leadership.gained().await;
        leadership.alone_since().map_or(Acquired::Never, |alone_since| Acquired::Lease { alone_since })
    }

    /// Waits until this process must not write any more, and returns the reason.
    pub(crate) async fn lost(&mut self) -> String {
        match &mut self.0 {
            Some(election) => {
                election.leadership.lost().await;
                reason(&(&mut election.task).await)
            }
            None => pending().await,
        }
    }

    /// Releases the Lease, so that another replica may acquire it at once. All writes must have finished.
    ///
    /// # Errors
    /// The reason, if the Lease was lost before.
    pub(crate) async fn release(self) -> Result<(), String> {
        let Some(Election { task, events, release, no_more_events, .. }) = self.0 else { return Ok(()) };
        // An election that has ended receives nothing; the outcome of its task tells why.
        let _ = release.send(());
        let outcome = task.await;
        drop(no_more_events);
        let _ = timeout(EVENTS_TIMEOUT, events).await;
        match outcome {
            Ok(Ok(())) => Ok(()),
            lost => Err(reason(&lost)),
        }
    }

    /// Lets the Lease expire after the end of the process, because a write may still arrive.
    pub(crate) fn abandon(self) {
        if self.0.is_some() {
            warn!("Not releasing the lease because writes may still be in progress; it will expire");
        }
    }
}

/// Waits for a message; a sender that is dropped sends none.
async fn sent(receiver: oneshot::Receiver<()>) {
    if receiver.await.is_err() {
        pending().await
    }
}

fn reason(outcome: &Result<Result<(), LeaseLost>, JoinError>) -> String {
    match outcome {
        Ok(Ok(())) => "the election was stopped".to_owned(),
        Ok(Err(lost)) => lost.to_string(),
        Err(error) => error.to_string(),
    }
}

/// The host name, which upstream asks the kernel for too.
fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use axum::routing::{get, put};
    use controller_kit::election::Config;
    use kube_api::{Encoding, connect};
    use serde_json::{Value, json};

    use super::*;

    /// An API server in a thread of its own, with a Lease for which no other process contends.
    pub(crate) fn lease_server() -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let version = Arc::new(AtomicU64::new(0));
        let store = move |lease: String| {
            let mut lease: Value = serde_json::from_str(&lease).unwrap();
            let version = version.fetch_add(1, Ordering::SeqCst) + 1;
            lease["metadata"]["resourceVersion"] = version.to_string().into();
            async move { lease.to_string() }
        };
        let released = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": "kube-system", "name": "lease", "resourceVersion": "0"}});
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
        let router = axum::Router::new()
            .route(&format!("{leases}/lease"), put(store).merge(get(async move || released.to_string())));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap();
            });
        });
        address
    }

    /// An election for the Lease of that server.
    pub(crate) fn election(timing: Config, server: SocketAddr, handles: &Handles) -> PendingElection {
        let config = kube::Config::new(format!("http://{server}").parse().unwrap());
        let client = || ApiClient::new(connect(&config).unwrap(), Encoding::Json, "test");
        let events = client();
        let _control = handles.control.enter();
        let (namespace, name) = ("kube-system".to_owned(), "lease".to_owned());
        let election = LeaderElection { timing, namespace, name };
        PendingElection::new(&election, client(), events, ElectionMetrics::default())
    }

    /// A handle of an election that sends no requests, whose task is `elector`.
    fn lease(elector: impl Future<Output = Result<(), LeaseLost>> + Send + 'static) -> LeaseHandle {
        lease_until(oneshot::channel().0, elector)
    }

    fn lease_until(
        release: oneshot::Sender<()>,
        elector: impl Future<Output = Result<(), LeaseLost>> + Send + 'static,
    ) -> LeaseHandle {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let client = ApiClient::new(connect(&config).unwrap(), Encoding::Json, "test");
        let (recorder, _) = Recorder::new(client.clone(), "test");
        let lock = LeaseLock::new(client, "kube-system", "test");
        let (identity, metrics) = (Identity::unique("test"), ElectionMetrics::default());
        let (_, leadership) = Elector::new(Config::default(), lock, identity, recorder, metrics);
        let (task, events, no_more_events) =
            (tokio::spawn(elector), tokio::spawn(async {}), oneshot::channel().0);
        LeaseHandle(Some(Election { leadership, task, events, release, no_more_events }))
    }

    #[tokio::test]
    async fn a_release_reports_a_lease_that_was_lost_before() {
        assert_eq!(lease(async { Ok(()) }).release().await, Ok(()));
        let taken = LeaseLost::Taken { lease: "ns/lease".to_owned(), holder: "another".to_owned() };
        let lost = lease(async { Err(taken) }).release().await;
        assert_eq!(lost, Err("lease ns/lease was taken by another".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_lease_is_not_released() {
        let (release, released) = oneshot::channel();
        let stop = tokio::spawn(sent(released));
        lease_until(release, async { Ok(()) }).abandon();
        assert!(timeout(Duration::from_secs(3600), stop).await.is_err(), "released though abandoned");

        let (release, released) = oneshot::channel();
        let stop = tokio::spawn(sent(released));
        assert_eq!(lease_until(release, async { Ok(()) }).release().await, Ok(()));
        stop.await.unwrap();
    }
}
