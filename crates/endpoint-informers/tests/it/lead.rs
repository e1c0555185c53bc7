//! The life of a controller, from the contest for the Lease to its release, on a paused clock.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking, and so do their helpers")]

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::election::{Config, ElectionMetrics, Elector, Identity, LeaseLock};
use controller_kit::recorder::Recorder;
use endpoint_informers::cache::Cache;
use endpoint_informers::lead::{LeadError, lead};
use endpoint_informers::list_watch::{Caches, ListWatches};
use endpointslice::Node;
use http::Request;
use kube::client::Body;
use kube_api::{ApiClient, Encoding};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use scripted_api::leases::{Candidate, End, Fate, LeaseServer};

const SECOND: Duration = Duration::from_secs(1);

/// What happened, each with the seconds since the start and whether the Lease was held.
type Story = Vec<(u64, bool, &'static str)>;

/// Work that needs three seconds to end when it is told to, in a process that is stopped at `stop`.
async fn live(server: &Arc<LeaseServer>, caches: &Caches, stop: Duration) -> (Story, Result<(), LeadError>) {
    let start = Instant::now();
    let story = Mutex::new(Story::new());
    let tell =
        |what| story.lock().push((start.elapsed().as_secs(), server.holder().starts_with("us_"), what));
    let client = server.client("us", Encoding::Protobuf);
    let lock = LeaseLock::new(client.clone(), "kube-system", "controllers");
    let (recorder, _events) = Recorder::new(client, "us");
    let identity = Identity::unique("us");
    let (elector, leadership) =
        Elector::new(Config::default(), lock, identity, recorder, ElectionMetrics::default());
    let told = Notify::new();
    let work = async {
        tell("work");
        told.notified().await;
        sleep(3 * SECOND).await;
        tell("done");
    };
    let shut_down = || {
        tell("shut down");
        told.notify_one();
    };
    let outcome = Box::pin(lead(elector, &leadership, caches, work, sleep(stop), shut_down)).await;
    tell("ended");
    (story.into_inner(), outcome)
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_held_until_the_work_is_done() {
    let server = LeaseServer::new();
    let (story, outcome) = live(&server, &Caches::default(), 20 * SECOND).await;
    outcome.unwrap();
    assert_eq!(story, [(0, true, "work"), (20, true, "shut down"), (23, true, "done"), (23, false, "ended")]);
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_is_stopped_ends_without_having_worked() {
    let server = LeaseServer::new();
    let other = Candidate::leading(&server, "other").await;
    let (story, outcome) = live(&server, &Caches::default(), 60 * SECOND).await;
    outcome.unwrap();
    assert_eq!(story, [(60, false, "ended")]);
    assert_eq!(server.holder(), other.identity);
}

#[tokio::test(start_paused = true)]
async fn work_is_abandoned_when_the_lease_is_lost() {
    let server = LeaseServer::new();
    server.judge_anew({
        let start = Instant::now();
        move |_| if start.elapsed() > 30 * SECOND { End::Swallowed.into() } else { Fate::default() }
    });
    let (story, outcome) = live(&server, &Caches::default(), 600 * SECOND).await;
    assert!(matches!(outcome, Err(LeadError::LeaseLost(_))), "{outcome:?}");
    // The last renewal was sent at 30 s, and is good for 10 s. Nobody could be told.
    assert_eq!(story, [(0, true, "work"), (40, true, "ended")]);
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lists_bring_nothing_for_five_minutes_gives_the_lease_back() {
    let server = LeaseServer::new();
    let silent =
        tower::service_fn(|_: Request<Body>| pending::<Result<http::Response<Body>, std::io::Error>>());
    let silent = ApiClient::new(kube::Client::new(silent, "default"), Encoding::Protobuf, "us");
    let mut watches = ListWatches::new(silent, Arc::new(Cache::default()));
    watches.start(watches.of::<Node>());
    let (story, outcome) = live(&server, &watches.caches(), 600 * SECOND).await;
    let Err(LeadError::Behind(behind)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(behind.resources, ["nodes"]);
    assert_eq!(story, [(300, false, "ended")]);
}
