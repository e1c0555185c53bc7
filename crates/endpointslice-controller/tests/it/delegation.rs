//! Services that belong to another controller. The cache shows two views, of ours and of theirs, and neither waits for
//! the other.

use std::time::Duration;

use endpoint_informers::cache::DelegatedService;
use endpointslice::Service;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, MANAGED_BY, SERVICE_NAME};
use fake_api::NAMESPACE;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;

use crate::harness::{self, Harness, pod, service};

/// A slice of `web` by this controller.
fn slice(name: &str, managed_by: &str) -> EndpointSlice {
    let labels = json!({SERVICE_NAME: "web", MANAGED_BY: managed_by});
    let metadata = json!({"name": name, "namespace": NAMESPACE, "labels": labels});
    harness::slice(json!({"metadata": metadata, "addressType": "IPv4", "endpoints": [], "ports": []}))
}

/// A Service with one slice of ours and one of another controller.
async fn settled() -> Harness {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
        cache.put(slice("theirs", "them"));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    harness.api.forget_requests();
    harness
}

#[tokio::test(start_paused = true)]
async fn our_slices_go_when_both_views_say_so_in_whatever_order() {
    type Step = fn(&Harness);
    let steps: [Step; 2] =
        [|harness| harness.api.remove::<Service>("web"), |harness| harness.api.delegate("web")];
    for order in [[0, 1], [1, 0]] {
        let harness = settled().await;
        steps[order[0]](&harness);
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), crate::NONE, "after one");
        steps[order[1]](&harness);
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["DELETE web-1"]);
        assert!(harness.api.stored("theirs").is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_deleted_costs_no_request() {
    let harness = settled().await;
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), crate::NONE, "the garbage collector does it");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_comes_back_gets_its_slices_back() {
    let harness = settled().await;
    harness.api.remove::<Service>("web");
    harness.api.delegate("web");
    harness.api.settle().await;
    harness.api.forget_requests();
    // The other view may stay behind for a while.
    harness.api.service(service("web", json!({})));
    harness.api.settle().await;
    harness.api.remove::<DelegatedService>("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_delegated_service_costs_nothing() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.delegate("web");
        cache.put(slice("theirs", "them"));
    });
    harness.api.settle().await;
    harness.api.node("node-1", "zone-a");
    harness.api.pod(pod("web-1", "10.0.0.1", true));
    harness.api.delegate("web");
    harness.api.edit_slice("web", |slice| drop(slice.endpoints.take()));
    harness.api.settle().await;
    assert_eq!((harness.syncs(), harness.api.requests()), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_ours_goes_at_start() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.delegate("web");
        cache.put(slice("ours", ENDPOINTSLICE_CONTROLLER));
        cache.put(slice("theirs", "them"));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["DELETE ours"]);
    let harness = harness.restart().await;
    harness.api.settle().await;
    assert_eq!((harness.syncs(), harness.api.requests()), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_fails_is_tried_again() {
    let harness = settled().await;
    harness.api.refuse(2);
    harness.api.remove::<Service>("web");
    harness.api.delegate("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["DELETE web-1"; 3]);
    assert_eq!(harness.slice_count("web"), 1, "theirs");
}

/// The slice was given to another controller as well, and the cache doesn't show that yet.
#[tokio::test(start_paused = true)]
async fn a_slice_that_is_not_ours_any_more_stays() {
    let harness = settled().await;
    let mut given = harness.api.stored("web-1").unwrap();
    given.metadata.labels.get_or_insert_default().insert(MANAGED_BY.to_owned(), "them".to_owned());
    let given = harness.api.put_without_event(given);
    harness.api.remove::<Service>("web");
    harness.api.delegate("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests().first().map(String::as_str), Some("DELETE web-1"), "it was tried");
    assert!(harness.api.stored("web-1").is_some());
    harness.api.put(given);
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.advance(Duration::from_secs(3600)).await;
    assert_eq!((harness.slice_count("web"), harness.api.requests()), (2, vec![]));
    assert_eq!(harness.api.events(), []);
}

/// Between the two views nothing is known of the Service, and its slices were written a moment ago.
#[tokio::test(start_paused = true)]
async fn no_deletion_is_sent_before_the_cache_shows_our_last_write() {
    let harness = settled().await;
    harness.api.hold_events();
    harness.api.pod(pod("web-2", "10.0.0.2", true));
    harness.api.advance(Duration::from_millis(1)).await;
    harness.api.remove::<Service>("web");
    harness.api.advance(Duration::from_millis(1)).await;
    harness.api.delegate("web");
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(harness.api.requests(), ["PUT web-1"]);
    harness.api.release_events();
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(harness.api.requests(), ["PUT web-1", "DELETE web-1"], "not refused, and at once");
}

/// The garbage collector's deletions cost no sync.
#[tokio::test(start_paused = true)]
async fn slices_that_go_after_their_service_are_no_reason_to_look() {
    let harness = settled().await;
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    let syncs = harness.syncs();
    harness.api.delete("web-1");
    harness.api.settle().await;
    assert_eq!((harness.syncs(), harness.api.requests()), (syncs, vec![]));
}

/// Our own write may become visible only after the Service has changed hands.
#[tokio::test(start_paused = true)]
async fn a_slice_that_shows_late_goes_as_well() {
    let delegate: fn(&Harness) = |harness| {
        harness.api.delegate("web");
        harness.api.remove::<Service>("web");
    };
    let in_two_steps: fn(&Harness) = |harness| harness.api.remove::<Service>("web");
    for change in [delegate, in_two_steps] {
        let harness = Harness::start(Duration::ZERO, |cache| {
            cache.node("node-1", "zone-a");
        });
        harness.api.settle().await;
        harness.api.hold_events();
        harness.api.service(service("web", json!({})));
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web-"]);
        change(&harness);
        harness.api.settle().await;
        harness.api.delegate("web");
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web-"], "not seen yet");
        harness.api.release_events();
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web-", "DELETE web-1"]);
    }
}
