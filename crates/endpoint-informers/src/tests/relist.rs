//! From a broken watch to a list, with a controller that waits for the cache to show its writes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use controller_kit::key::ObjectKey;
use controller_kit::queue::{RateLimit, WorkQueue};
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME};
use http::Method;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::Message;
use parking_lot::Mutex;
use scripted_api::script::{Answer, Script, Step};
use scripted_api::wire::{EXPIRED, Refusal, Wire};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::world::World;
use crate::cache::{Change, Handler, ListPhase, State};
use crate::kinds::CachedSlice;
use crate::list_watch::Timing;
use crate::slices::{SliceExpectations, StaleCache, Written};

/// Far more than any script takes, on a paused clock.
const LONG: Duration = Duration::from_secs(3600);

/// The handlers of a controller of slices.
struct Listener {
    slices: SliceExpectations,
    queue: WorkQueue<ObjectKey>,
    script: Arc<Script>,
    phases: Mutex<Vec<(ListPhase, usize)>>,
}

impl Handler for Listener {
    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        self.slices.observe(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.phases.lock().push((phase, self.script.seen().len()));
        self.slices.observe_list(phase, state);
    }
}

/// A list-watch of slices on a script, and its listener.
fn start(wire: Wire, steps: impl IntoIterator<Item = Step>) -> (World, Arc<Listener>) {
    let script = Script::new(steps);
    let world = World::start::<CachedSlice>(script.client(), &script, wire, Timing::default());
    let queue = WorkQueue::new(RateLimit::default());
    let slices = SliceExpectations::new("us", queue.clone(), Duration::ZERO);
    let listener = Arc::new(Listener { slices, queue, script, phases: Mutex::default() });
    world.cache.attach(Arc::clone(&listener) as _, |_| {});
    (world, listener)
}

impl Listener {
    /// The number of slices that a sync of the Service reads, unless the cache is stale.
    fn sync(&self, world: &World) -> Result<usize, StaleCache> {
        world.cache.read(|state| self.slices.read_or_wait(&key(), state)).map(|slices| slices.current.len())
    }

    /// The next key in the queue.
    async fn due(&self) -> ObjectKey {
        let item = timeout(LONG, self.queue.get()).await.expect("nothing is due");
        item.unwrap().clone()
    }

    fn wrote(&self, slice: &Value) {
        self.slices
            .written(&key(), &Written::Created(&serde_json::from_value(slice["metadata"].clone()).unwrap()));
    }
}

fn key() -> ObjectKey {
    ObjectKey::new("shop", "web")
}

fn slice(name: &str, version: &str) -> Value {
    let labels = json!({SERVICE_NAME: "web", MANAGED_BY: "us"});
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [],
        "metadata": {"namespace": "shop", "name": name, "uid": name, "resourceVersion": version, "generation": 1,
            "labels": labels}})
}

fn added(wire: Wire, slice: &Value) -> Bytes {
    let object: EndpointSlice = serde_json::from_value(slice.clone()).unwrap();
    wire.raw_event("ADDED", "EndpointSlice", &object.encode(), slice)
}

fn get(answer: Answer) -> Step {
    Step::new(Method::GET, "/apis/discovery.k8s.io/v1/endpointslices", answer).lacks("resourceVersion=0")
}

/// A streaming list is requested, of this moment.
fn list(answer: Answer) -> Step {
    get(answer)
        .has("sendInitialEvents=true")
        .has("resourceVersionMatch=NotOlderThan")
        .lacks("resourceVersion")
}

/// The first page of a list is requested, of this moment.
fn page(answer: Answer) -> Step {
    get(answer).has("limit=500").lacks("watch").lacks("resourceVersion").lacks("resourceVersionMatch")
}

fn resume(version: &str, answer: Answer) -> Step {
    get(answer).has(&format!("resourceVersion={version}"))
}

fn a_while() -> Duration {
    Duration::from_secs(2)
}

/// Writes that are acknowledged after the beginning is reported and before the request are in the list; in the other
/// order they might not be.
#[tokio::test(start_paused = true)]
async fn a_list_is_consistent_and_its_beginning_is_reported_before_the_request() {
    for wire in Wire::BOTH {
        let (world, listener) = start(
            wire,
            [
                list(wire.watch(&[wire.bookmark("3")])),
                list(wire.watch(&[wire.end_of_list("10")]).pause(a_while())),
                resume("10", wire.refusal(&EXPIRED)),
                list(wire.refusal(&Refusal { code: 400, message: "no", ..Refusal::default() })),
                page(wire.page(&[], "20", "more")),
                get(wire.page(&[], "20", "")).has("continue=more"),
                resume("20", wire.watch(&[]).hang()),
            ],
        );
        world.script.played(LONG).await;
        let complete = ListPhase::Complete { went_back: false };
        let begins = |seen| (ListPhase::Begins, seen);
        let expected = [begins(0), begins(1), (complete, 2), begins(3), begins(4), (complete, 6)];
        assert_eq!(*listener.phases.lock(), expected, "{wire:?}");
    }
}

/// An API server that was restored from a backup accepts a watch from a version that it has yet to reach, and sends
/// nothing until then, neither events nor bookmarks.
#[tokio::test(start_paused = true)]
async fn an_api_server_whose_versions_went_back_is_relisted() {
    for wire in Wire::BOTH {
        let before = [added(wire, &slice("a", "90")), wire.end_of_list("100")];
        let after = [added(wire, &slice("a", "40")), added(wire, &slice("b", "41")), wire.end_of_list("50")];
        let (mut world, listener) = start(
            wire,
            [
                list(wire.watch(&before).cut()),
                resume("100", wire.watch(&[]).hang()),
                list(wire.watch(&after).pause(a_while())),
                resume("50", wire.watch(&[wire.bookmark("51")]).hang()),
                // A watch that has delivered an event has a valid resourceVersion.
                resume("51", wire.watch(&[wire.bookmark("52")]).hang()),
            ],
        );
        world.synced.wait_for(|synced| *synced).await.unwrap();
        assert_eq!(listener.due().await, key());
        assert_eq!(listener.sync(&world), Ok(1));
        // The backup has undone a create and a delete.
        listener.wrote(&slice("c", "120"));
        let deleted = serde_json::from_value(slice("b", "41")["metadata"].clone()).unwrap();
        listener.slices.written(&key(), &Written::Deleted(&deleted));
        assert_eq!(listener.sync(&world), Err(StaleCache));
        let start = Instant::now();
        assert_eq!(listener.due().await, key());
        let waited = start.elapsed().as_secs_f64();
        assert!((150.0..155.0).contains(&waited), "one silence and a back-off, not {waited}");
        assert_eq!(listener.sync(&world), Ok(2), "{wire:?}");
        // And from now on the new versions count.
        listener.wrote(&slice("d", "60"));
        assert_eq!(listener.sync(&world), Err(StaleCache), "60 is later than 50, whatever 100 was");
        world.script.played(LONG).await;
    }
}
