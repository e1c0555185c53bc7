//! Other clients that change our slices, once or continuously.

use std::time::Duration;

use controller_harness::TestApi;
use endpointslice::well_known::{LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, SERVICE_NAME};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use serde_json::json;

use crate::harness::{Harness, pod, service, set_label};

/// Starts with a Service, one pod and its slice, another Service without pods, and an empty list of writes.
async fn settled() -> Harness {
    let harness = Harness::with_web(1).await;
    harness.api.service(service("db", json!({})));
    harness.api.settle().await;
    harness.api.forget_requests();
    harness
}

/// Upstream replaces it at its resync, 12 to 24 hours later.
#[tokio::test(start_paused = true)]
async fn a_slice_without_its_owner_reference_is_replaced() {
    let edits: [(&str, fn(&mut EndpointSlice)); 2] = [
        ("none", |slice| slice.metadata.owner_references = None),
        ("another", |slice| slice.metadata.owner_references.as_mut().unwrap()[0].uid = "other".into()),
    ];
    for (what, edit) in edits {
        let harness = settled().await;
        let before = harness.api.slices("web").remove(0);
        harness.api.edit_slice("web", edit);
        let after = harness.api.slices("web").remove(0);
        assert_eq!(
            after.metadata.generation, before.metadata.generation,
            "{what}: the generation is the same"
        );
        harness.api.advance(Duration::from_secs(2)).await;
        assert_eq!(
            harness.api.requests(),
            ["POST web-", &format!("DELETE {}", before.metadata.name.unwrap())],
            "{what}"
        );
        let [slice] = &harness.api.slices("web")[..] else { panic!("{what}") };
        assert_eq!(slice.metadata.owner_references, before.metadata.owner_references, "{what}");
        assert_eq!(harness.api.events(), [], "{what}");
    }
}

/// A change of a field that upstream's reconciler doesn't compare costs a sync without a write.
#[tokio::test(start_paused = true)]
async fn changes_that_upstream_ignores_cause_no_write() {
    let edits: [(&str, fn(&mut EndpointSlice)); 4] = [
        ("finalizers", |slice| slice.metadata.finalizers = Some(vec!["example.com/hold".into()])),
        ("annotations", |slice| slice.metadata.annotations = Some([("a".into(), "b".into())].into())),
        ("the trigger time", |slice| {
            slice.metadata.annotations.get_or_insert_default().remove(LAST_CHANGE_TRIGGER_TIME);
        }),
        ("another owner", |slice| {
            let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"});
            slice.metadata.owner_references.as_mut().unwrap().push(serde_json::from_value(other).unwrap());
        }),
    ];
    for (what, edit) in edits {
        let harness = settled().await;
        for _ in 0..100 {
            harness.api.edit_slice("web", edit);
            harness.api.advance(Duration::from_millis(470)).await;
        }
        harness.api.advance(Duration::from_hours(25)).await;
        assert_eq!((harness.api.requests(), harness.api.events()), (vec![], vec![]), "{what}");
        // These changes do not count as repairs.
        harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
        harness.api.advance(Duration::from_secs(2)).await;
        assert_eq!(harness.api.addresses("web"), ["10.0.0.1"], "{what}");
    }
}

/// Pod changes are written while the client annotates, so that writes follow changes that need no repair.
#[tokio::test(start_paused = true)]
async fn a_client_that_annotates_slices_between_pod_changes_is_not_reported_and_delays_no_repair() {
    let harness = settled().await;
    for number in 0..30 {
        let note = |slice: &mut EndpointSlice| {
            let annotations = slice.metadata.annotations.get_or_insert_default();
            annotations.insert("example.com/seen".to_owned(), number.to_string());
        };
        harness.api.edit_slice("web", note);
        harness.api.pod(pod("web-2", &format!("10.0.1.{number}"), true));
        harness.api.advance(Duration::from_secs(2)).await;
    }
    assert_eq!(harness.api.requests().len(), 30, "one write for each change of the pod");
    assert_eq!(harness.api.events(), []);
    harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
    harness.api.advance(Duration::from_secs(2)).await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.1.29"]);
}

type ForeignChange = fn(&Harness);

/// Changes that a client makes to each of our slices, and the author that the event names: that upstream never repairs, or
/// only at its resync.
const LIMITED: [(&str, ForeignChange, &str); 2] = [
    (
        "labels",
        |harness| on_ours(harness, |slice| set_label(slice, "team", "b")),
        "field manager \"other-client\"",
    ),
    (
        "disowns",
        |harness| on_ours(harness, |slice| slice.metadata.owner_references = None),
        "an unknown client",
    ),
];

/// Changes that take ready endpoints from consumers, which upstream repairs a second later, each time.
const LOSSES: [(&str, ForeignChange, &str); 4] = [
    (
        "edits",
        |harness| on_ours(harness, |slice| slice.endpoints = Some(Vec::new())),
        "field manager \"other-client\"",
    ),
    (
        "drains",
        |harness| {
            on_ours(harness, |slice| {
                for endpoint in slice.endpoints.iter_mut().flatten() {
                    let conditions = endpoint.conditions.get_or_insert_default();
                    (conditions.ready, conditions.serving) = (Some(false), Some(true));
                }
            });
        },
        "field manager \"other-client\"",
    ),
    (
        "deletes",
        |harness| harness.ours().iter().for_each(|slice| harness.api.delete(&name(slice))),
        "an unknown client",
    ),
    (
        "replaces",
        |harness| {
            for mut slice in harness.ours() {
                harness.api.delete(&name(&slice));
                slice.metadata.uid = None;
                slice.address_type = "IPv6".into();
                slice.endpoints = None;
                harness.api.put(slice);
            }
        },
        "field manager \"other-client\"",
    ),
];

/// Changes that give each of our slices to another manager or Service, for which upstream waits until it restarts.
const REASSIGNMENTS: [(&str, ForeignChange); 2] = [
    ("relabels", |harness| on_ours(harness, |slice| set_label(slice, MANAGED_BY, "them"))),
    ("moves", |harness| on_ours(harness, |slice| set_label(slice, SERVICE_NAME, "gone"))),
];

fn name(slice: &EndpointSlice) -> String {
    slice.metadata.name.clone().unwrap_or_default()
}

fn on_ours(harness: &Harness, edit: fn(&mut EndpointSlice)) {
    for mut slice in harness.ours() {
        edit(&mut slice);
        harness.api.put(slice);
    }
}

/// Repeats a change twice a second for this many minutes.
async fn repeat_change(harness: &Harness, minutes: u64, change: ForeignChange) {
    for _ in 0..minutes * 60 * 1000 / 470 {
        change(harness);
        harness.api.advance(Duration::from_millis(470)).await;
    }
}

fn assert_reported(harness: &Harness, author: &str, what: &str) {
    let [(reason, message)] = &harness.api.events()[..] else { panic!("{what}: {:?}", harness.api.events()) };
    assert_eq!(reason, "EndpointSlicesContested", "{what}");
    assert!(message.contains(author), "{what}: {message}");
    let object = &harness.api.event_objects()[0]["involvedObject"];
    assert_eq!((&object["kind"], &object["name"]), (&json!("Service"), &json!("web")), "{what}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_changing_slices_costs_one_repair_a_minute_and_is_named_once() {
    for (what, change, author) in LIMITED {
        let harness = settled().await;
        repeat_change(&harness, 15, change).await;
        let writes = harness.api.requests().len();
        let repairs = if what == "disowns" { writes / 2 } else { writes };
        assert!((20..=26).contains(&repairs), "{what}: {writes} writes in a quarter of an hour");
        assert_reported(&harness, author, what);
    }
}

/// As upstream, at most one sync a second, however long it lasts.
#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_taking_endpoints_is_undone_within_two_seconds_each_time() {
    for (what, change, author) in LOSSES {
        let harness = settled().await;
        for minute in 0..3 {
            repeat_change(&harness, 1, change).await;
            harness.api.advance(Duration::from_secs(2)).await;
            let ours = harness.ours();
            let endpoints = ours.iter().flat_map(|slice| slice.endpoints.iter().flatten());
            let is_ready =
                |endpoint: &&Endpoint| endpoint.conditions.as_ref().is_some_and(|it| it.ready == Some(true));
            assert_eq!(endpoints.filter(is_ready).count(), 1, "{what}: minute {minute}");
        }
        let writes = harness.api.requests().len();
        let repairs = if what == "replaces" { writes / 2 } else { writes };
        assert!(repairs <= 3 * 62, "{what}: {writes} writes in three minutes");
        assert_reported(&harness, author, what);
    }
}

/// Endpoints of pods that nothing replaces would be missing until the next change of the Service.
#[tokio::test(start_paused = true)]
async fn many_slices_that_are_deleted_are_all_back_two_seconds_after_the_last() {
    for pause in [Duration::ZERO, Duration::from_millis(100), Duration::from_secs(3)] {
        let api = TestApi::default();
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        (0..30).for_each(|n| api.pod(pod(&format!("web-{n}"), &format!("10.0.1.{n}"), true)));
        let harness = Harness::start_small(&api);
        harness.api.settle().await;
        for slice in harness.api.slices("web") {
            harness.api.delete(&name(&slice));
            harness.api.advance(pause).await;
        }
        harness.api.advance(Duration::from_secs(2)).await;
        assert_eq!(harness.api.addresses("web").len(), 30, "{pause:?} between two");
        assert_eq!(harness.api.events(), [], "{pause:?}");
    }
}

/// The client relabels a slice between two parts of a plan of 120 slices, after it has used up the repairs.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_large_plan_waits_for_no_repair() {
    let api = TestApi::default();
    api.node("node-1", "zone-a");
    api.service(service("web", json!({})));
    api.pod(pod("web-0", "10.0.0.1", true));
    let harness = Harness::start_small(&api);
    harness.api.settle().await;
    repeat_change(&harness, 1, |harness| on_ours(harness, |slice| set_label(slice, "team", "b"))).await;
    assert_eq!(harness.api.events().len(), 1, "the repairs are used up");
    harness.api.delay_requests(Duration::from_millis(50));
    (1..=120).for_each(|n| api.pod(pod(&format!("web-{n}"), &format!("10.0.1.{n}"), true)));
    for _ in 0..20 {
        harness.api.advance(Duration::from_millis(500)).await;
        on_ours(&harness, |slice| set_label(slice, "team", "b"));
    }
    assert_eq!(harness.api.addresses("web").len(), 121);
}

#[tokio::test(start_paused = true)]
async fn limited_repairs_delay_no_pod_change_and_no_other_service() {
    for (what, change, _) in LIMITED.into_iter().chain(LOSSES) {
        let harness = settled().await;
        repeat_change(&harness, 1, change).await;
        harness.api.pod(pod("web-2", "10.0.0.2", true));
        harness.api.pod(pod("db-1", "10.0.0.8", true));
        harness.api.advance(Duration::from_millis(1)).await;
        let ours = harness.ours();
        let addresses: Vec<&String> = ours
            .iter()
            .flat_map(|slice| slice.endpoints.iter().flatten())
            .flat_map(|e| &e.addresses)
            .collect();
        assert_eq!(addresses, ["10.0.0.1", "10.0.0.2"], "{what}");
        assert_eq!(harness.api.addresses("db"), ["10.0.0.8"], "{what}");
        harness.api.edit_slice("db", |slice| set_label(slice, "team", "b"));
        harness.api.advance(Duration::from_secs(2)).await;
        let labels = harness.api.slices("db").remove(0).metadata.labels.unwrap();
        assert!(!labels.contains_key("team"), "{what}: another Service is repaired at once");
        // After a quiet period the limit is reset, and the next series of changes emits another event.
        harness.api.advance(Duration::from_mins(25)).await;
        assert_eq!(harness.api.events().len(), 1, "{what}");
        repeat_change(&harness, 1, change).await;
        assert_eq!(harness.api.event_objects().len(), 2, "{what}: the first, and its repetition");
    }
}

/// Upstream creates one such slice, which it does not manage, and waits for it until it restarts.
#[tokio::test(start_paused = true)]
async fn a_policy_that_takes_each_new_slice_costs_a_few_tries_and_one_event() {
    let policies: [fn(&mut EndpointSlice); 3] = [
        |slice| set_label(slice, MANAGED_BY, "them"),
        |slice| set_label(slice, SERVICE_NAME, "gone"),
        |slice| slice.metadata.labels = None,
    ];
    for (number, policy) in policies.into_iter().enumerate() {
        let harness = settled().await;
        harness.api.mutate(policy);
        harness.api.service(service("new", json!({})));
        let stored = || harness.api.object_count() - 2;
        harness.api.advance(Duration::from_secs(60)).await;
        assert_eq!((harness.api.requests().len(), stored()), (5, 1), "{number}: three creates in a minute");
        harness.api.advance(Duration::from_hours(24)).await;
        let writes = harness.api.requests().len();
        assert!((150..=250).contains(&writes), "{number}: {writes} writes in a day");
        assert_eq!(stored(), 1, "{number}: a day");
        let [(reason, message)] = &harness.api.events()[..] else {
            panic!("{number}: {:?}", harness.api.events())
        };
        assert_eq!(reason, "EndpointSlicesContested");
        assert!(message.contains("an admission webhook or policy"), "{message}");
        harness.api.mutate(|_| ());
        harness.api.advance(Duration::from_secs(1001)).await;
        assert_eq!(stored(), 1, "{number}: after its end, with nothing left behind");
        assert_eq!(harness.api.slices("new").len(), 1, "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_relabels_each_new_slice_gets_a_few() {
    for (what, change) in REASSIGNMENTS {
        let harness = settled().await;
        repeat_change(&harness, 1, change).await;
        let count =
            |harness: &Harness| harness.api.requests().iter().filter(|it| it.starts_with("POST")).count();
        // The first slice was new as well.
        assert_eq!(count(&harness), 2, "{what}: in a minute");
        repeat_change(&harness, 60, change).await;
        assert_eq!(count(&harness), 7, "{what}: in an hour");
        let [(reason, message)] = &harness.api.events()[..] else {
            panic!("{what}: {:?}", harness.api.events())
        };
        assert_eq!(reason, "EndpointSlicesContested", "{what}");
        assert!(message.contains("field manager \"other-client\""), "{what}: {message}");
        harness.api.pod(pod("db-1", "10.0.0.8", true));
        harness.api.advance(Duration::from_millis(1)).await;
        assert_eq!(harness.api.addresses("db"), ["10.0.0.8"], "{what}: another Service");
    }
}

/// The slice changes before each write: at most one try a second, as upstream, after ten at once.
#[tokio::test(start_paused = true)]
async fn conflicts_with_a_client_that_keeps_changing_slices_count_as_writes() {
    let harness = settled().await;
    harness.api.conflict(usize::MAX);
    for _ in 0..2 * 60 * 5 {
        harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
        harness.api.advance(Duration::from_millis(500)).await;
    }
    let writes = harness.api.requests().len();
    assert!(writes <= 5 * 60 + 20, "{writes} tries in five minutes");
}

/// Upstream overlooks this: it tracks only the slices that it wrote since it started.
#[tokio::test(start_paused = true)]
async fn a_deleted_slice_of_an_earlier_process_is_created_again() {
    let harness = Harness::with_web(1).await.restart().await;
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new(), "a restart writes nothing");
    assert_eq!(harness.syncs(), 1, "one sync");
    harness.api.delete_slice("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}
