//! Other clients that change our slices: once, by mistake, or as fast as they can.

use std::time::Duration;

use endpointslice::well_known::{LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, SERVICE_NAME};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;

use crate::harness::{Harness, pod, service};

/// A Service with one pod and its slice, and another without pods; requests are forgotten.
async fn settled() -> Harness {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.service(service("db", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    harness.api.settle().await;
    harness.api.forget_requests();
    harness
}

fn set_label(slice: &mut EndpointSlice, key: &str, value: &str) {
    slice.metadata.labels.get_or_insert_default().insert(key.into(), value.into());
}

/// Upstream does it with its resync, 12 to 24 hours later.
#[tokio::test(start_paused = true)]
async fn a_slice_whose_owner_is_taken_away_is_made_anew() {
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

/// What upstream's reconciler doesn't compare costs a look, however often it changes.
#[tokio::test(start_paused = true)]
async fn what_upstream_leaves_alone_is_left_alone() {
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
        // And it was no dispute.
        harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
        harness.api.advance(Duration::from_secs(2)).await;
        assert_eq!(harness.api.addresses("web"), ["10.0.0.1"], "{what}");
    }
}

type Attack = fn(&Harness);

/// What a client may do to each slice of ours, and what users read of it.
const ATTACKS: [(&str, Attack, &str); 6] = [
    (
        "relabels",
        |harness| on_ours(harness, |slice| set_label(slice, MANAGED_BY, "them")),
        "field manager \"somebody\"",
    ),
    (
        "moves",
        |harness| on_ours(harness, |slice| set_label(slice, SERVICE_NAME, "gone")),
        "field manager \"somebody\"",
    ),
    (
        "edits",
        |harness| on_ours(harness, |slice| slice.endpoints = Some(Vec::new())),
        "field manager \"somebody\"",
    ),
    (
        "disowns",
        |harness| on_ours(harness, |slice| slice.metadata.owner_references = None),
        "field manager \"somebody\"",
    ),
    (
        "deletes",
        |harness| harness.ours().iter().for_each(|slice| harness.api.delete(&name(slice))),
        "a client that is not known",
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
        "field manager \"somebody\"",
    ),
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

/// Lets a client attack for that many minutes.
async fn under_attack(harness: &Harness, minutes: u64, attack: Attack) {
    for _ in 0..minutes * 60 * 1000 / 470 {
        attack(harness);
        harness.api.advance(Duration::from_millis(470)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_fights_for_slices_costs_a_write_a_minute_and_is_named_once() {
    for (what, attack, actor) in ATTACKS {
        let harness = settled().await;
        under_attack(&harness, 60, attack).await;
        let (writes, told) = (harness.api.requests().len(), harness.api.events());
        assert!((60..=75).contains(&writes), "{what}: {writes} writes in an hour");
        let [(reason, message)] = &told[..] else { panic!("{what}: {told:?}") };
        assert_eq!(reason, "EndpointSlicesContested", "{what}");
        assert!(message.contains(actor), "{what}: {message}");
        let object = &harness.api.event_objects()[0]["involvedObject"];
        assert_eq!((&object["kind"], &object["name"]), (&json!("Service"), &json!("web")), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dispute_delays_no_change_of_pods_and_no_other_service() {
    for (what, attack, _) in ATTACKS {
        let harness = settled().await;
        under_attack(&harness, 5, attack).await;
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
        harness.api.edit_slice("db", |slice| slice.endpoints = None);
        harness.api.advance(Duration::from_secs(2)).await;
        assert_eq!(harness.api.addresses("db"), ["10.0.0.8"], "{what}: another Service is repaired at once");
        // Left alone for a while, so is this one, and a new dispute is told of anew.
        harness.api.advance(Duration::from_mins(15)).await;
        attack(&harness);
        harness.api.advance(Duration::from_secs(2)).await;
        assert!(!harness.ours().is_empty(), "{what}");
        assert_eq!(harness.api.events().len(), 1, "{what}");
        under_attack(&harness, 5, attack).await;
        assert_eq!(harness.api.event_objects().len(), 2, "{what}: the first, and its repetition");
    }
}

/// Upstream makes one such slice, which is not its own, and then waits for it until it restarts.
#[tokio::test(start_paused = true)]
async fn a_webhook_that_takes_new_slices_away_costs_a_write_a_minute_and_is_told_of_once() {
    let webhooks: [fn(&mut EndpointSlice); 3] = [
        |slice| set_label(slice, MANAGED_BY, "them"),
        |slice| set_label(slice, SERVICE_NAME, "gone"),
        |slice| slice.metadata.labels = None,
    ];
    for (number, webhook) in webhooks.into_iter().enumerate() {
        let harness = settled().await;
        harness.api.mutate(webhook);
        harness.api.service(service("new", json!({})));
        harness.api.advance(Duration::from_hours(1)).await;
        let writes = harness.api.requests().len();
        assert!((60..=75).contains(&writes), "{number}: {writes} writes in an hour");
        let [(reason, message)] = &harness.api.events()[..] else {
            panic!("{number}: {:?}", harness.api.events())
        };
        assert_eq!(reason, "EndpointSlicesContested");
        assert!(message.contains("an admission webhook or policy"), "{message}");
    }
}

/// The slice changes each time that a write is sent.
#[tokio::test(start_paused = true)]
async fn conflicts_with_a_client_that_fights_for_slices_count_as_writes() {
    let harness = settled().await;
    harness.api.conflict(usize::MAX);
    for _ in 0..2 * 60 * 30 {
        harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
        harness.api.advance(Duration::from_millis(500)).await;
    }
    let writes = harness.api.requests().len();
    assert!(writes <= 60, "{writes} tries in half an hour");
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_somebody_changes_or_deletes_is_repaired() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["PUT web-1"]);
    harness.api.forget_requests();
    harness.api.delete_slice("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}

/// Upstream overlooks this: it tracks only the slices that it wrote itself since it started.
#[tokio::test(start_paused = true)]
async fn a_slice_of_an_earlier_process_that_somebody_deletes_comes_back() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    harness.api.settle().await;
    let harness = harness.restart().await;
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new(), "a restart writes nothing");
    assert_eq!(harness.syncs(), 1, "and looks once");
    harness.api.delete_slice("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}
