//! Who of several replicas works: the one that holds the Lease.

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

/// How long the last events about the Lease may take.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(2);
/// For how long after the end of its lease a leader may still believe in it before `/healthz` fails (upstream:
/// `NewLeaderHealthzAdaptor`).
const HEALTH_TOLERANCE: Duration = Duration::from_secs(20);

/// An election that has not begun.
pub(crate) struct Candidate {
    elector: Elector,
    events: EventWriter,
    leadership: Leadership,
    /// How long after the renew deadline its health fails.
    tolerance: Duration,
    lease: String,
}

impl Candidate {
    /// Everything that is needed to contend. `client` is neither limited nor bound to leadership, and has connections of
    /// its own, made for the control runtime: those of writers may be busy, or dead and many. `events` is for the rest.
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

    /// Looks at the Lease, so that lists that are asked for from now on may count for a new leader.
    pub(crate) async fn look(self, handles: &Handles) -> Result<Self, JoinError> {
        let Self { mut elector, events, leadership, tolerance, lease } = self;
        let looked = handles.control.spawn(async move {
            elector.observe().await;
            elector
        });
        Ok(Self { elector: looked.await?, events, leadership, tolerance, lease })
    }

    /// Whether this process may write.
    pub(crate) fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// A check that fails while a leader does not get to renew, and should be restarted.
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

/// The right to work: while the Lease is held, or always without an election.
pub(crate) struct Lead(Option<Election>);

/// What came of waiting for one's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// There is no election.
    Uncontested,
    /// This process leads, and no other has written since that time.
    Won {
        /// By our own clock.
        alone_since: Instant,
    },
    /// The election ended.
    Over,
}

/// An election under way.
struct Election {
    leadership: Leadership,
    task: JoinHandle<Result<(), LeaseLost>>,
    events: JoinHandle<()>,
    /// Told when nothing writes any more. Only that releases the Lease; if this is dropped, the Lease runs out.
    release: oneshot::Sender<()>,
    /// Dropped when no more events will come.
    quiet: oneshot::Sender<()>,
}

impl Lead {
    /// Contends from now on.
    pub(crate) fn contend(candidate: Option<Candidate>, handles: &Handles) -> Self {
        Self(candidate.map(|Candidate { elector, events, leadership, .. }| {
            let (release, released) = oneshot::channel::<()>();
            let (quiet, silence) = oneshot::channel::<()>();
            Election {
                leadership,
                task: handles.control.spawn(elector.run(told(released))),
                events: handles.work.spawn(events.run(async move { drop(silence.await) })),
                release,
                quiet,
            }
        }))
    }

    /// Waits until this process leads, or never will.
    pub(crate) async fn turn(&self) -> Turn {
        let Some(Election { leadership, .. }) = &self.0 else { return Turn::Uncontested };
        leadership.gained().await;
        leadership.alone_since().map_or(Turn::Over, |alone_since| Turn::Won { alone_since })
    }

    /// Waits until this process must not write any more, and says why.
    pub(crate) async fn lost(&mut self) -> String {
        match &mut self.0 {
            Some(election) => {
                election.leadership.lost().await;
                why(&(&mut election.task).await)
            }
            None => pending().await,
        }
    }

    /// Lets go of the Lease, so that another may have it at once. Nothing may write any more.
    ///
    /// # Errors
    /// Says why if the Lease was lost before that.
    pub(crate) async fn release(self) -> Result<(), String> {
        let Some(Election { task, events, release, quiet, .. }) = self.0 else { return Ok(()) };
        // Nobody listens if the election is over already, which its outcome tells.
        let _ = release.send(());
        let outcome = task.await;
        drop(quiet);
        let _ = timeout(EVENTS_TIMEOUT, events).await;
        match outcome {
            Ok(Ok(())) => Ok(()),
            lost => Err(why(&lost)),
        }
    }

    /// Keeps the Lease until it runs out after the end of the process: something may still write.
    pub(crate) fn abandon(self) {
        if self.0.is_some() {
            warn!("Writes may still be under way, so the lease is not released; it runs out by itself");
        }
    }
}

async fn told(released: oneshot::Receiver<()>) {
    if released.await.is_err() {
        pending().await
    }
}

fn why(outcome: &Result<Result<(), LeaseLost>, JoinError>) -> String {
    match outcome {
        Ok(Ok(())) => "it was stopped".to_owned(),
        Ok(Err(lost)) => lost.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Upstream asks the kernel too.
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

    /// An API server in a thread of its own, with a Lease that nobody else wants.
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

    /// Contends for the Lease of that server.
    pub(crate) fn candidate(timing: Config, server: SocketAddr, handles: &Handles) -> Candidate {
        let config = kube::Config::new(format!("http://{server}").parse().unwrap());
        let client = || ApiClient::new(connect(&config).unwrap(), Encoding::Json, "test");
        let events = client();
        let _control = handles.control.enter();
        let (namespace, name) = ("kube-system".to_owned(), "lease".to_owned());
        let election = LeaderElection { timing, namespace, name };
        Candidate::new(&election, client(), events, ElectionMetrics::default())
    }

    /// Of an election that never asks the API server anything, whose task is `elector`.
    fn lead(elector: impl Future<Output = Result<(), LeaseLost>> + Send + 'static) -> Lead {
        lead_until(oneshot::channel().0, elector)
    }

    fn lead_until(
        release: oneshot::Sender<()>,
        elector: impl Future<Output = Result<(), LeaseLost>> + Send + 'static,
    ) -> Lead {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let client = ApiClient::new(connect(&config).unwrap(), Encoding::Json, "test");
        let (recorder, _) = Recorder::new(client.clone(), "test");
        let lock = LeaseLock::new(client, "kube-system", "test");
        let (identity, metrics) = (Identity::unique("test"), ElectionMetrics::default());
        let (_, leadership) = Elector::new(Config::default(), lock, identity, recorder, metrics);
        let (task, events, quiet) = (tokio::spawn(elector), tokio::spawn(async {}), oneshot::channel().0);
        Lead(Some(Election { leadership, task, events, release, quiet }))
    }

    #[tokio::test]
    async fn a_release_says_whether_the_lease_was_lost_before_it() {
        assert_eq!(lead(async { Ok(()) }).release().await, Ok(()));
        let taken = LeaseLost::Taken { lease: "ns/lease".to_owned(), holder: "somebody".to_owned() };
        let lost = lead(async { Err(taken) }).release().await;
        assert_eq!(lost, Err("lease ns/lease was taken by somebody".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_release_releases() {
        let (release, released) = oneshot::channel();
        let stop = tokio::spawn(told(released));
        lead_until(release, async { Ok(()) }).abandon();
        assert!(timeout(Duration::from_secs(3600), stop).await.is_err(), "released though abandoned");

        let (release, released) = oneshot::channel();
        let stop = tokio::spawn(told(released));
        assert_eq!(lead_until(release, async { Ok(()) }).release().await, Ok(()));
        stop.await.unwrap();
    }
}
