//! The lifecycle of a process with one controller, from the election to the release of the Lease, on a paused clock.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking, and so do their helpers")]

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::election::{Config, ElectionMetrics, Identity, LeaseLock};
use controller_kit::key::ObjectKey;
use controller_kit::queue::{Cause, RateLimit, WorkQueue};
use controller_kit::recorder::Recorder;
use controller_kit::worker::{SyncContext, SyncError};
use endpointslice::Node;
use http::Request;
use kube::client::Body;
use kube_api::{ApiClient, Encoding};
use parking_lot::Mutex;
use scripted_api::candidates::Candidate;
use scripted_api::leases::{End, Fate, LeaseServer};
use tokio::time::{Instant, sleep, timeout};

use crate::cache::{Cache, Handler, State};
use crate::controller::{Controller, Parts};
use crate::lifecycle::{ControllerTask, Lifecycle, LifecycleError, PendingElection};
use crate::list_watch::{Caches, Informers};

const SECOND: Duration = Duration::from_secs(1);

/// Steps, each with the seconds since the start and whether the Lease was held.
type Log = Vec<(u64, bool, &'static str)>;

#[derive(Clone)]
struct Observer {
    start: Instant,
    server: Arc<LeaseServer>,
    log: Arc<Mutex<Log>>,
}

impl Observer {
    fn note(&self, what: &'static str) {
        let held = self.server.holder().starts_with("us_");
        self.log.lock().push((self.start.elapsed().as_secs(), held, what));
    }
}

/// A controller with one key, whose sync finishes three seconds after the queue is shut down.
struct Slow {
    cache: Arc<Cache>,
    queue: WorkQueue<ObjectKey>,
    observer: Observer,
}

#[derive(Debug, thiserror::Error)]
#[error("never fails")]
struct Never;

impl SyncError for Never {
    fn causes(&self) -> Vec<Cause> {
        Vec::new()
    }
}

impl Handler for Slow {}

impl Controller for Slow {
    const NAME: &'static str = "slow-controller";
    type Error = Never;

    fn parts(&self) -> Parts<'_> {
        Parts { cache: &self.cache, queue: &self.queue, order: None, repairs: None }
    }

    fn initial_keys(&self, _: &State) -> Vec<ObjectKey> {
        vec![ObjectKey::new("ns", "only")]
    }

    async fn sync(&self, _: &SyncContext, _: &ObjectKey) -> Result<(), Never> {
        self.observer.note("work");
        while !self.queue.is_shut_down() {
            sleep(SECOND / 10).await;
        }
        sleep(3 * SECOND).await;
        self.observer.note("done");
        Ok(())
    }
}

/// Runs a process with such a controller, which is stopped after `stop`.
async fn live(
    server: &Arc<LeaseServer>,
    caches: &Caches,
    stop: Duration,
) -> (Log, Result<(), LifecycleError>) {
    let observer = Observer { start: Instant::now(), server: Arc::clone(server), log: Arc::default() };
    let client = server.client("us", Encoding::Protobuf);
    let lock = LeaseLock::new(client.clone(), "kube-system", "controllers");
    let (identity, metrics) = (Identity::unique("us"), ElectionMetrics::default());
    let events = Recorder::new(client.clone(), "us");
    let election = PendingElection::new(Config::default(), lock, identity, events, metrics);
    let queue = WorkQueue::new(RateLimit::default());
    let controller = Arc::new(Slow { cache: Arc::default(), queue, observer: observer.clone() });
    let task = ControllerTask::new((controller, Recorder::new(client, "us").1), 0, None);
    let stop = async {
        sleep(stop).await;
        observer.note("stop");
    };
    let lifecycle = Lifecycle::new(caches.clone(), [task]).with_election(election);
    let outcome = Box::pin(lifecycle.run_until(stop)).await;
    observer.note("ended");
    (std::mem::take(&mut *observer.log.lock()), outcome)
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_held_until_the_work_is_done() {
    let server = LeaseServer::new();
    let (log, outcome) = live(&server, &Caches::default(), 20 * SECOND).await;
    outcome.unwrap();
    assert_eq!(log, [(0, true, "work"), (20, true, "stop"), (23, true, "done"), (23, false, "ended")]);
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_is_stopped_ends_without_having_worked() {
    let server = LeaseServer::new();
    let other = Candidate::leading(&server, "other").await;
    let (log, outcome) = live(&server, &Caches::default(), 60 * SECOND).await;
    outcome.unwrap();
    assert_eq!(log, [(60, false, "stop"), (60, false, "ended")]);
    assert_eq!(server.holder(), other.identity);
}

#[tokio::test(start_paused = true)]
async fn work_is_abandoned_when_the_lease_is_lost() {
    let server = LeaseServer::new();
    server.set_fates({
        let start = Instant::now();
        move |_| if start.elapsed() > 30 * SECOND { End::Swallowed.into() } else { Fate::default() }
    });
    let (log, outcome) = live(&server, &Caches::default(), 600 * SECOND).await;
    assert!(matches!(outcome, Err(LifecycleError::LeaseLost(_))), "{outcome:?}");
    // The last renewal was sent at 30 s, and is valid for 10 s. The other candidates see no release.
    assert_eq!(log, [(0, true, "work"), (40, true, "ended")]);
}

/// As by a program that selects over it and something else, which ends.
#[tokio::test(start_paused = true)]
async fn the_lease_of_a_lifecycle_that_is_dropped_expires() {
    let server = LeaseServer::new();
    let dropped = timeout(20 * SECOND, live(&server, &Caches::default(), 600 * SECOND)).await;
    assert!(dropped.is_err() && server.holder().starts_with("us_"), "it leads, and was not released");
    let other = timeout(60 * SECOND, Candidate::leading(&server, "other")).await.expect("it is renewed");
    assert_eq!((server.holder(), server.violations()), (other.identity, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lists_bring_nothing_for_five_minutes_gives_the_lease_back() {
    let server = LeaseServer::new();
    let silent =
        tower::service_fn(|_: Request<Body>| pending::<Result<http::Response<Body>, std::io::Error>>());
    let silent = ApiClient::new(kube::Client::new(silent, "default"), Encoding::Protobuf, "us");
    let mut informers = Informers::new(silent, Arc::new(Cache::default()));
    informers.start(informers.of::<Node>());
    let (log, outcome) = live(&server, &informers.caches(), 600 * SECOND).await;
    let Err(LifecycleError::Relist(behind)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(behind.resources, ["nodes"]);
    assert_eq!(log, [(300, false, "ended")]);
}
