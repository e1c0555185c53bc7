//! Slices that other clients change, and a cache behind our own writes.

use std::time::Duration;

use controller_harness::{TestApi, set_label};
use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, MANAGED_BY, SERVICE_NAME};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::NONE;
use crate::harness::{Harness, endpoints, service, slice};

#[tokio::test(start_paused = true)]
async fn a_slice_that_another_client_changes_or_deletes_is_repaired_at_once() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
    harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
    harness.now().await;
    assert_eq!(harness.writes().await, ["PUT web-1"]);
    harness.api.delete_slice("web");
    harness.now().await;
    assert_eq!(harness.writes().await, ["POST web-"]);
    harness.api.edit_slice("web", |slice| set_label(slice, MANAGED_BY, "other"));
    harness.now().await;
    assert_eq!(harness.writes().await, ["POST web-"], "the relabelled slice is left alone and replaced");
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_a_slice_is_forgotten_with_the_endpoints() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
    harness.api.edit_slice("web", |slice| set_label(slice, MANAGED_BY, "other"));
    assert_eq!(harness.writes().await, ["POST web-"]);
    assert!(harness.remembers("web").contains(&"losses"), "{:?}", harness.remembers("web"));
    harness.api.remove::<CachedEndpoints>("web");
    assert_eq!(harness.writes().await, ["DELETE web-2"]);
    assert_eq!(harness.remembers("web"), NONE);
}

/// The watch broke before the deletion event.
#[tokio::test(start_paused = true)]
async fn a_slice_that_only_a_relist_shows_deleted_is_created_again() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
    harness.api.break_watch();
    harness.api.delete_slice("web");
    assert_eq!(harness.writes().await, ["POST web-"]);
    harness.api.delete_slice_without_event("web");
    assert_eq!(harness.writes().await, NONE);
    harness.api.relist();
    assert_eq!(harness.writes().await, ["POST web-"]);
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_moves_to_another_service_causes_a_sync_of_both() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
    harness.api.edit_slice("web", |slice| set_label(slice, SERVICE_NAME, "gone"));
    let mut writes = harness.writes().await;
    writes.sort();
    assert_eq!(writes, ["DELETE web-1", "POST web-"]);
}

/// Only changes of slices are batched, not those of Endpoints and Services.
#[tokio::test(start_paused = true)]
async fn foreign_changes_within_a_batch_period_are_repaired_once() {
    let harness = Harness::start_with_batch_period(Duration::from_secs(2), |api| {
        api.service(service("web", json!({})));
        api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})));
    })
    .await;
    harness.api.forget_requests();
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1", "10.0.0.2"], json!({})));
    harness.now().await;
    assert_eq!(harness.api.requests(), ["PUT web-1"], "Endpoints don't wait");
    harness.api.settle().await;
    harness.api.forget_requests();
    let syncs = harness.syncs();
    for _ in 0..3 {
        harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
        harness.api.advance(Duration::from_millis(500)).await;
        assert_eq!(harness.api.requests(), NONE);
    }
    harness.api.advance(Duration::from_millis(501)).await;
    assert_eq!((harness.api.requests(), harness.syncs()), (vec!["PUT web-1".to_owned()], syncs + 1));
}

#[tokio::test(start_paused = true)]
async fn slices_of_others_are_left_alone() {
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    let harness = Harness::start(|api| {
        api.service(service("web", json!({})));
        api.upsert::<CachedEndpoints>(endpoints("web", &[], json!({})));
        api.put(slice("ours", "web", "10.0.0.1", json!({})));
        api.put(slice("other-service", "other", "10.0.0.1", label(MANAGED_BY, json!("me"))));
        api.put(slice(
            "other-manager",
            "web",
            "10.0.0.1",
            label(MANAGED_BY, json!(ENDPOINTSLICE_CONTROLLER)),
        ));
        let unlabelled = |name: &str, key: &str| {
            let mut slice = slice(name, "web", "10.0.0.1", json!({}));
            slice.metadata.labels.as_mut().unwrap().remove(key);
            slice
        };
        api.put(unlabelled("no-manager", MANAGED_BY));
        api.put(unlabelled("no-service", SERVICE_NAME));
        api.put(slice("elsewhere", "web", "10.0.0.1", json!({"metadata": {"namespace": "elsewhere"}})));
    })
    .await;
    let mut requests = harness.api.requests();
    requests.sort();
    assert_eq!(
        requests,
        ["DELETE elsewhere", "DELETE ours"],
        "the one elsewhere has no Endpoints in its own namespace"
    );
}

/// A finalizer keeps the slice.
fn mark_for_deletion(slice: &mut EndpointSlice) {
    slice.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    slice.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
}

/// Upstream counts such a slice as existing, and updates it.
#[tokio::test(start_paused = true)]
async fn a_slice_being_deleted_is_not_updated() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
    harness.api.edit_slice("web", mark_for_deletion);
    assert_eq!(harness.writes().await, ["POST web-"]);
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1", "10.0.0.2"], json!({})));
    assert_eq!(harness.writes().await, ["PUT web-2"]);
    harness.api.remove::<CachedEndpoints>("web");
    assert_eq!(harness.writes().await, ["DELETE web-2"]);
}

/// Consumers use slices that are being deleted.
#[tokio::test(start_paused = true)]
async fn a_slice_being_deleted_publishes_only_addresses_of_the_endpoints() {
    let harness = Harness::mirroring(&["10.0.0.1", "10.0.0.2"]).await;
    harness.api.edit_slice("web", mark_for_deletion);
    assert_eq!(harness.writes().await, ["POST web-"]);
    let addresses = |name: &str| {
        let slice = json!(harness.api.stored(name).unwrap());
        slice["endpoints"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|e| e["addresses"][0].clone())
            .collect::<Vec<_>>()
    };
    for (endpoints_now, leaving) in
        [(vec!["10.0.0.2", "10.0.0.3"], vec!["10.0.0.2"]), (vec!["10.0.0.3"], vec![])]
    {
        harness.api.upsert::<CachedEndpoints>(endpoints("web", &endpoints_now, json!({})));
        let syncs = harness.syncs();
        assert_eq!(harness.writes().await, ["PUT web-2", "PUT web-1"]);
        assert_eq!(harness.syncs(), syncs + 1, "the events of our own writes cause no sync");
        assert_eq!(addresses("web-1"), leaving);
        assert_eq!(addresses("web-2"), endpoints_now);
        assert!(harness.api.stored("web-1").unwrap().metadata.finalizers.is_some(), "the finalizer is kept");
    }
    harness.api.advance(Duration::from_secs(3600)).await;
    assert_eq!(harness.writes().await, NONE);
    // With a protocol that is no longer desired.
    harness.api.edit_slice("web", |slice| {
        slice.endpoints = serde_json::from_value(json!([{"addresses": ["10.0.0.9"]}])).unwrap()
    });
    assert_eq!(harness.writes().await, ["PUT web-1"]);
    assert_eq!(addresses("web-1"), [""; 0]);
}

/// Upstream repairs these at its resync, 12 to 24 hours later.
#[tokio::test(start_paused = true)]
async fn changes_that_do_not_raise_the_generation_are_repaired_too() {
    let edits: [(&str, fn(&mut EndpointSlice)); 3] = [
        ("an annotation", |slice| slice.metadata.annotations = Some([("note".into(), "B".into())].into())),
        ("no annotations", |slice| slice.metadata.annotations = None),
        ("an owner from before", |slice| {
            slice.metadata.owner_references.as_mut().unwrap()[0].uid = "old".into()
        }),
    ];
    for (what, edit) in edits {
        let harness = Harness::start(|api| {
            api.service(service("web", json!({})));
            let note = json!({"metadata": {"annotations": {"note": "A"}}});
            api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], note));
        })
        .await;
        harness.api.forget_requests();
        let before = harness.api.stored("web-1").unwrap().metadata;
        harness.api.edit_slice("web", edit);
        assert_eq!(harness.api.stored("web-1").unwrap().metadata.generation, before.generation, "{what}");
        assert_eq!(harness.writes().await, ["PUT web-1"], "{what}");
        let after = harness.api.stored("web-1").unwrap().metadata;
        assert_eq!(
            (after.annotations, after.owner_references),
            (before.annotations, before.owner_references),
            "{what}"
        );
    }
}

/// Upstream compares neither at a resync (`endpointslicemirroring/reconciler.go` `reconcileByPortMapping`).
#[tokio::test(start_paused = true)]
async fn changes_that_upstream_ignores_cause_no_write() {
    let edits: [(&str, fn(&mut EndpointSlice)); 2] = [
        ("finalizers", |slice| slice.metadata.finalizers = Some(vec!["example.com/hold".into()])),
        ("no owner", |slice| slice.metadata.owner_references = None),
    ];
    for (what, edit) in edits {
        let harness = Harness::mirroring(&["10.0.0.1"]).await;
        harness.api.edit_slice("web", edit);
        harness.api.advance(Duration::from_hours(25)).await;
        assert_eq!(harness.writes().await, NONE, "{what}");
    }
}

/// By its generation alone, the slice looks as if the first write had not been made.
#[tokio::test(start_paused = true)]
async fn an_annotation_that_is_reverted_before_the_cache_shows_it_is_written() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
    harness.api.hold_events();
    let note = json!({"metadata": {"annotations": {"note": "B"}}});
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], note));
    harness.now().await;
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})));
    harness.now().await;
    assert_eq!(harness.api.requests(), ["PUT web-1"], "the cache doesn't show the first write");
    harness.api.release_events();
    assert_eq!(harness.writes().await, ["PUT web-1", "PUT web-1"]);
    assert_eq!(harness.api.stored("web-1").unwrap().metadata.annotations, None);
}

/// Upstream does not check whether the cache is stale, and misses the slice until its event arrives.
#[tokio::test(start_paused = true)]
async fn a_slice_that_the_cache_does_not_show_yet_is_deleted_too() {
    let harness = Harness::start(|api| api.service(service("web", json!({})))).await;
    harness.api.hold_events();
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})));
    harness.now().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    harness.api.remove::<CachedEndpoints>("web");
    harness.now().await;
    harness.api.release_events();
    harness.now().await;
    assert_eq!(harness.api.requests(), ["POST web-", "DELETE web-1"]);
}

#[tokio::test(start_paused = true)]
async fn foreign_writes_of_mirrored_slices_are_counted() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
    assert_eq!(harness.foreign_writes(), 0, "our own");
    harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
    harness.writes().await;
    harness.api.delete_slice("web");
    harness.writes().await;
    assert_eq!(harness.foreign_writes(), 1, "a change, and no deletion");
}

/// Updates are sent without a version, so that the response to one without a change has the version of the stored slice.
#[tokio::test(start_paused = true)]
async fn an_update_that_a_webhook_takes_back_is_no_sign_of_a_restored_backup() {
    let api = |name: &str, api: &TestApi| {
        api.service(service(name, json!({})));
        api.upsert::<CachedEndpoints>(endpoints(name, &["10.0.0.1"], json!({})));
    };
    let harness = Harness::start(|server| {
        server.mutate(|slice: &mut EndpointSlice| set_label(slice, "team", "a"));
        api("web", server);
    })
    .await;
    let harness = harness.restart().await;
    assert_eq!(harness.writes().await, ["PUT web-1"], "the label of the webhook is not in the plan");
    api("db", &harness.api);
    assert_eq!(harness.writes().await, ["POST db-"], "a later version is known");
    let version = |harness: &Harness| harness.api.slices("web").remove(0).metadata.resource_version;
    let before = version(&harness);
    api("web", &harness.api);
    assert_eq!(harness.writes().await, ["PUT web-1"]);
    assert_eq!((version(&harness), harness.restores()), (before, 0), "nothing was written");
}
