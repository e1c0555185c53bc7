//! Waiting until controllers have nothing left to do.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{Cause, RateLimit, WorkQueue};
use controller_kit::recorder::Recorder;
use controller_kit::worker::{SyncContext, SyncError};
use kube_api::Encoding;
use scripted_api::leases::LeaseServer;
use tokio::time::{Instant, sleep, timeout};

use crate::cache::{Cache, Handler, State};
use crate::controller::Controller;
use crate::lifecycle::{ControllerTask, Failing, Lifecycle};
use crate::list_watch::Caches;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("refused")]
struct Refused;

impl SyncError for Refused {
    fn causes(&self) -> Vec<Cause> {
        vec![Cause::FAILURE]
    }
}

/// Takes a second for each key. The key `first` adds `later`, two seconds after it; `bad` always fails.
struct Steps {
    cache: Arc<Cache>,
    queue: WorkQueue<ObjectKey>,
    keys: Vec<ObjectKey>,
}

impl Handler for Steps {}

impl Controller for Steps {
    const NAME: &'static str = "steps";
    type Error = Refused;

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn queue(&self) -> &WorkQueue<ObjectKey> {
        &self.queue
    }

    fn initial_keys(&self, _: &State) -> Vec<ObjectKey> {
        self.keys.clone()
    }

    async fn sync(&self, _: &SyncContext, key: &ObjectKey) -> Result<(), Refused> {
        sleep(SECOND).await;
        match &*key.name {
            "first" => self.queue.add_after(ObjectKey::new("ns", "later"), 2 * SECOND),
            "bad" => return Err(Refused),
            _ => {}
        }
        Ok(())
    }
}

/// Runs a controller with these initial keys until it is quiet; returns the seconds that took, and the keys that fail.
async fn quiet_after(keys: &[&str]) -> (u64, Vec<Failing>) {
    let server = LeaseServer::new();
    let (cache, queue) = (Arc::default(), WorkQueue::new(RateLimit::default()));
    let keys = keys.iter().map(|name| ObjectKey::new("ns", *name)).collect();
    let events = Recorder::new(server.client("us", Encoding::Protobuf), "us").1;
    let task = ControllerTask::new((Arc::new(Steps { cache, queue, keys }), events), 0, None);
    let lifecycle = Lifecycle::new(Caches::default(), [task]);
    let quiet = lifecycle.quiet();
    assert!(timeout(SECOND, quiet.reached()).await.is_err(), "no controller runs yet");
    let (start, mut failing) = (Instant::now(), Vec::new());
    let reached = async {
        failing = quiet.reached().await.unwrap();
    };
    lifecycle.run_until(reached).await.unwrap();
    (start.elapsed().as_secs(), failing)
}

#[tokio::test(start_paused = true)]
async fn without_keys_it_is_quiet_at_once() {
    assert_eq!(quiet_after(&[]).await, (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn delayed_keys_are_waited_for() {
    assert_eq!(quiet_after(&["first"]).await, (4, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_keeps_failing_is_reported() {
    let failing = vec![Failing { controller: "steps", key: ObjectKey::new("ns", "bad") }];
    assert_eq!(quiet_after(&["bad", "good"]).await, (3, failing));
}
