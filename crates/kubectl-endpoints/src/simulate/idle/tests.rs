use std::sync::Arc;
use std::time::Duration;

use controller_kit::queue::{Cause, RateLimit};
use controller_kit::recorder::Recorder;
use controller_kit::worker::{SyncContext, SyncError};
use endpoint_informers::cache::{Cache, Handler, State};
use endpoint_informers::controller::{Controller, Parts};
use endpoint_informers::lifecycle::{ControllerTask, Lifecycle};
use kube_api::{ApiClient, Encoding, connect};
use tokio::time::{sleep, timeout};

use super::*;

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

    fn parts(&self) -> Parts<'_> {
        Parts { cache: &self.cache, queue: &self.queue, order: None, repairs: None }
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

/// Runs a controller with these initial keys until it is idle; returns the seconds that took, and the keys that fail.
async fn idle_after(keys: &[&str]) -> (u64, Vec<Failing>) {
    let nowhere = kube::Config::new(http::Uri::from_static("http://127.0.0.1:1"));
    let client = ApiClient::new(connect(&nowhere).unwrap(), Encoding::Protobuf, "us");
    let (cache, queue) = (Arc::default(), WorkQueue::new(RateLimit::default()));
    let idle = Idle::new(Caches::default(), vec![("steps", queue.clone())]);
    let keys = keys.iter().map(|name| ObjectKey::new("ns", *name)).collect();
    let parts = (Arc::new(Steps { cache, queue, keys }), Recorder::new(client, "us").1);
    let lifecycle = Lifecycle::new(Caches::default(), [ControllerTask::new(parts, 0, None)]);
    assert!(timeout(SECOND, idle.reached()).await.is_err(), "no controller runs yet");
    let (start, mut failing) = (Instant::now(), Vec::new());
    let reached = async {
        failing = idle.reached().await.unwrap();
    };
    lifecycle.run_until(reached).await.unwrap();
    (start.elapsed().as_secs(), failing)
}

#[tokio::test(start_paused = true)]
async fn without_keys_it_is_idle_at_once() {
    assert_eq!(idle_after(&[]).await, (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn delayed_keys_are_waited_for() {
    assert_eq!(idle_after(&["first"]).await, (4, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_keeps_failing_is_reported() {
    let failing = vec![Failing { controller: "steps", key: ObjectKey::new("ns", "bad") }];
    assert_eq!(idle_after(&["bad", "good"]).await, (3, failing));
}
