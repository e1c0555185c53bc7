//! List-watches of those objects that a selector selects, with scripts as in `list_watch`.

use std::time::Duration;

use endpointslice::Pod;
use http::Method;
use scripted_api::script::{Answer, Step};
use scripted_api::wire::{EXPIRED, Refusal, Wire, message, pod};
use serde_json::json;

use super::world::{Selectors, World};
use crate::kinds::DelegatedService;

/// The selectors as the server decodes them; in the query they are escaped.
const SELECTORS: Selectors =
    Selectors { labels: Some("!team.example/owner,app in (a,b)"), fields: Some("status.podIP!=") };
const ESCAPED: [&str; 2] =
    ["labelSelector=%21team.example%2Fowner%2Capp%20in%20%28a%2Cb%29", "fieldSelector=status.podIP%21%3D"];

fn get(answer: Answer) -> Step {
    let step = Step::new(Method::GET, "/api/v1/pods", answer);
    ESCAPED.into_iter().fold(step, Step::has)
}

async fn play(wire: Wire, steps: impl IntoIterator<Item = Step>) -> World {
    World::play_selected::<Pod>(wire, SELECTORS, steps).await
}

fn a_while() -> Duration {
    Duration::from_secs(2)
}

#[tokio::test(start_paused = true)]
async fn every_request_has_the_selectors() {
    for wire in Wire::BOTH {
        let unsupported = Refusal { code: 400, reason: "", message: "no", cause: None, retry_after: 0 };
        let steps = [
            get(wire.refusal(&unsupported)).has("sendInitialEvents=true"),
            get(wire.page(&[pod("a", "1", "10.0.0.1")], "10", "more")).has("limit=500"),
            get(wire.page(&[pod("b", "2", "10.0.0.2")], "10", "")).has("continue=more"),
            get(wire.watch(&[wire.bookmark("11")]).pause(a_while())).has("resourceVersion=10"),
            get(wire.watch(&[]).hang()).has("resourceVersion=11"),
        ];
        assert_eq!(play(wire, steps).await.pods(), ["a 10.0.0.1", "b 10.0.0.2"]);
    }
}

/// The server sends the object in its last matching state, with the version of the change.
#[tokio::test(start_paused = true)]
async fn an_object_that_stops_matching_is_deleted_and_one_that_starts_is_added() {
    for wire in Wire::BOTH {
        let (a, left, back) =
            (pod("a", "1", "10.0.0.1"), pod("a", "12", "10.0.0.1"), pod("a", "13", "10.0.0.9"));
        let listed = || wire.watch(&[wire.added(&a), wire.end_of_list("10")]);
        let steps = [
            get(listed().then(wire.deleted(&left)).then(wire.added(&back)).pause(a_while())),
            get(wire.refusal(&EXPIRED)).has("resourceVersion=13"),
            get(wire.watch(&[wire.end_of_list("20")]).hang()).has("sendInitialEvents=true"),
        ];
        let expected = ["+a 10.0.0.1 (list)", "-a 10.0.0.1", "+a 10.0.0.9", "-a 10.0.0.9"];
        assert_eq!(play(wire, steps).await.changes(), expected, "the last one while nothing was watched");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_delegated_service_only_the_name_is_kept() {
    for wire in Wire::BOTH {
        let event = |event, name: &str, version: &str| {
            let meta = message(&[(1, name.as_bytes()), (3, b"shop"), (6, version.as_bytes())]);
            let metadata = json!({"name": name, "namespace": "shop", "resourceVersion": version});
            let json = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata});
            wire.raw_event(event, "Service", &message(&[(1, &meta), (2, b"")]), &json)
        };
        let watch = wire.watch(&[
            event("ADDED", "web", "1"),
            event("ADDED", "db", "2"),
            wire.end_of_list("10"),
            event("MODIFIED", "web", "11"),
            event("DELETED", "db", "12"),
        ]);
        let owner = Selectors { labels: Some("owner"), ..Selectors::default() };
        let steps = [Step::new(Method::GET, "/api/v1/services", watch.hang()).has("labelSelector=owner")];
        let world = World::play_selected::<DelegatedService>(wire, owner, steps).await;
        assert!(world.is_synced());
        world.cache.read(|state| {
            let names: Vec<&str> = state.delegated.iter().map(|service| &*service.name).collect();
            assert_eq!((names, state.services.len()), (vec!["web"], 0));
            assert_eq!(state.delegated.observed(), 12);
        });
    }
}
