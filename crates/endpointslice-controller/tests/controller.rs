//! The controller on a cache that the test fills and an API that the test plays, on a paused clock.
//!
//! | Upstream's test | Here |
//! |---|---|
//! | `TestPodAddsBatching`, `TestPodUpdatesBatching`, `TestPodDeleteBatching` | `pod_changes_within_a_batch_period_are_one_write` |
//! | `TestSyncServiceNoSelector`, `TestServiceExternalNameTypeSync`, `TestSyncServiceMissing` | `services_without_endpoints_of_ours_cost_no_request` |
//! | `TestOnEndpointSliceUpdate` | `a_slice_that_changes_hands_is_repaired` |
//! | `TestSyncServiceStaleInformer` | `a_cache_behind_our_own_write_is_waited_for` |
//! | `TestSyncServicePendingDeletion` | `a_service_being_deleted_gets_no_new_slices` |

mod fake;

use std::time::Duration;

use fake::{Fake, pod, service};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn a_service_with_a_ready_pod_gets_one_slice_and_no_second_sync() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
    assert_eq!(fake.syncs(), 1, "the echo of our own write, which arrives before the answer, causes no sync");
}

#[tokio::test(start_paused = true)]
async fn pod_changes_within_a_batch_period_are_one_write() {
    for (batch_period, writes) in [(Duration::ZERO, 3), (Duration::from_secs(1), 1)] {
        let fake = Fake::start(batch_period, |cache| {
            cache.node("node-1", "zone-a");
            cache.service(service("web", json!({})));
        });
        fake.settle().await;
        fake.forget_requests();
        for number in 1..=3 {
            fake.pod(pod(&format!("web-{number}"), &format!("10.0.0.{number}"), true));
            fake.advance(Duration::from_millis(200)).await;
        }
        fake.settle().await;
        assert_eq!(fake.requests().len(), writes, "{batch_period:?}: {:?}", fake.requests());
        assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    }
}

#[tokio::test(start_paused = true)]
async fn services_without_endpoints_of_ours_cost_no_request() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.service(service("external", json!({"spec": {"type": "ExternalName"}})));
        cache.service(service("manual", json!({"spec": {"selector": null}})));
        cache.service(service("gone", json!({})));
        cache.remove_service("gone");
    });
    fake.settle().await;
    assert_eq!(fake.requests(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_service_being_deleted_gets_no_new_slices() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.service(service("web", json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})));
    });
    fake.settle().await;
    assert_eq!(fake.requests(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_somebody_changes_or_deletes_is_repaired() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    fake.forget_requests();
    fake.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
    fake.settle().await;
    assert_eq!(fake.requests(), ["PUT web-1"]);
    fake.forget_requests();
    fake.delete_slice("web");
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_changes_hands_is_repaired() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    fake.forget_requests();
    fake.edit_slice("web", |slice| {
        let labels = slice.metadata.labels.get_or_insert_default();
        labels.insert(endpointslice::well_known::MANAGED_BY.into(), "somebody-else".into());
    });
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"], "theirs is left alone, and the Service gets another");
}

/// The API answers, but its watch is silent for a while.
#[tokio::test(start_paused = true)]
async fn a_cache_behind_our_own_write_is_waited_for() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
    });
    fake.settle().await;
    fake.forget_requests();
    fake.hold_events();
    fake.pod(pod("web-1", "10.0.0.1", true));
    fake.advance(Duration::from_millis(1)).await;
    fake.pod(pod("web-2", "10.0.0.2", true));
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(
        fake.requests(),
        ["PUT web-1"],
        "the second change waits: the cache doesn't show the first write"
    );
    fake.release_events();
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(fake.requests(), ["PUT web-1", "PUT web-1"], "the event wakes it, not the back-off");
    assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_tried_again_for_ever() {
    let fake = Fake::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    fake.refuse(40);
    fake.settle().await;
    for _ in 0..40 {
        fake.advance(Duration::from_secs(1001)).await;
    }
    fake.settle().await;
    assert_eq!(fake.requests().len(), 41);
    assert_eq!(fake.slice_count("web"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_told_and_a_conflict_that_heals_is_not() {
    let fake = Fake::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    fake.conflict(2);
    fake.settle().await;
    assert_eq!((fake.slice_count("web"), fake.told()), (1, vec![]));
    let fake = Fake::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    fake.refuse(1);
    fake.settle().await;
    assert_eq!(fake.slice_count("web"), 1);
    let [(reason, message)] = &fake.told()[..] else { panic!("{:?}", fake.told()) };
    assert_eq!(reason, "FailedToUpdateEndpointSlices");
    let expected = "Error updating Endpoint Slices for Service default/web: \
                    failed to create EndpointSlice default/web-: exceeded quota";
    assert_eq!(message, expected);
}

/// k3s#12552: upstream's whole slice is refused for one bad address.
#[tokio::test(start_paused = true)]
async fn an_address_that_the_api_server_refuses_is_left_out_and_named() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "127.0.0.1", true));
        cache.pod(pod("web-2", "10.0.0.2", true));
    });
    fake.settle().await;
    assert_eq!(fake.addresses("web"), ["10.0.0.2"]);
    let [(reason, message)] = &fake.told()[..] else { panic!("{:?}", fake.told()) };
    assert_eq!(reason, "InvalidIPAddress");
    assert_eq!(message, "Skipping IP address 127.0.0.1 of Pod web-1: not allowed in EndpointSlices");
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_node_is_missing_appears_with_the_node() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    assert_eq!(fake.addresses("web"), Vec::<String>::new());
    assert_eq!(fake.told()[0].0, "FailedToUpdateEndpointSlices");
    fake.node("node-1", "zone-a");
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_zone_change_of_a_node_reaches_the_slices_of_its_pods() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    assert_eq!(fake.zones("web"), [Some("zone-a".to_owned())]);
    fake.node("node-1", "zone-b");
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(fake.zones("web"), [Some("zone-b".to_owned())]);
}

/// Upstream overlooks this: it tracks only the slices that it wrote itself since it started.
#[tokio::test(start_paused = true)]
async fn a_slice_of_an_earlier_process_that_somebody_deletes_comes_back() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    let fake = fake.restart().await;
    fake.settle().await;
    assert_eq!(fake.requests(), Vec::<String>::new(), "a restart writes nothing");
    fake.delete_slice("web");
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
}

/// kubernetes#141592: upstream's tracker can wait for ever for slices of the Service that was.
#[tokio::test(start_paused = true)]
async fn a_service_deleted_and_created_again_at_once_is_served() {
    for hold in [false, true] {
        let fake = Fake::start(Duration::ZERO, |cache| {
            cache.node("node-1", "zone-a");
            cache.service(service("web", json!({})));
            cache.pod(pod("web-1", "10.0.0.1", true));
        });
        fake.settle().await;
        if hold {
            fake.hold_events();
        }
        fake.recreate_service("web", "uid-new");
        // The garbage collector takes the old slice, perhaps before the controller does.
        fake.delete_slice("web");
        fake.advance(Duration::from_millis(1)).await;
        fake.recreate_service("web", "uid-newer");
        fake.advance(Duration::from_millis(1)).await;
        fake.release_events();
        fake.settle().await;
        assert_eq!((fake.slice_count("web"), fake.addresses("web")), (1, vec!["10.0.0.1".to_owned()]));
        fake.pod(pod("web-2", "10.0.0.2", true));
        fake.advance(Duration::from_millis(1)).await;
        assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.2"], "and it goes on working");
    }
}
