//! Services of another controller. Two watches fill the cache, of our Services and of the labelled ones, and neither
//! waits for the other.

use std::time::Duration;

use controller_harness::NAMESPACE;
use endpoint_informers::kinds::DelegatedService;
use endpointslice::Service;
use endpointslice::well_known::{
    ENDPOINT_CONTROLLER_NAME, ENDPOINTSLICE_CONTROLLER, MANAGED_BY, SERVICE_NAME,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;

use crate::harness::{self, Harness, pod, service, web};

/// A slice of `web` that the controller `managed_by` manages.
fn slice(name: &str, managed_by: &str) -> EndpointSlice {
    let labels = json!({SERVICE_NAME: "web", MANAGED_BY: managed_by});
    let metadata = json!({"name": name, "namespace": NAMESPACE, "labels": labels});
    harness::slice(json!({"metadata": metadata, "addressType": "IPv4", "endpoints": [], "ports": []}))
}

/// Starts with a Service that has one slice of ours and one of another controller.
async fn settled() -> Harness {
    let harness = Harness::start(Duration::ZERO, |cache| {
        web(1)(cache);
        cache.put(slice("theirs", "them"));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    harness.api.forget_requests();
    harness
}

#[tokio::test(start_paused = true)]
async fn our_slices_are_deleted_once_both_watches_show_the_delegation() {
    type Step = fn(&Harness);
    let steps: [Step; 2] =
        [|harness| harness.api.remove::<Service>("web"), |harness| harness.api.delegate("web")];
    for order in [[0, 1], [1, 0]] {
        let harness = settled().await;
        steps[order[0]](&harness);
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), crate::NONE, "after one of the two events");
        steps[order[1]](&harness);
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["DELETE web-1"]);
        assert!(harness.api.stored("theirs").is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn slices_are_created_again_when_the_label_is_removed() {
    let harness = settled().await;
    harness.api.remove::<Service>("web");
    harness.api.delegate("web");
    harness.api.settle().await;
    harness.api.forget_requests();
    // The other watch may lag behind.
    harness.api.service(service("web", json!({})));
    harness.api.settle().await;
    harness.api.remove::<DelegatedService>("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_delegated_service_causes_no_request() {
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
async fn our_slices_of_delegated_services_are_deleted_at_start_up() {
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

/// Services are not listed again at a takeover: the watch of labelled ones may be behind.
#[tokio::test(start_paused = true)]
async fn slices_of_a_service_that_is_ours_again_stay_at_start_up() {
    for is_ours_again in [true, false] {
        let labels = if is_ours_again { json!({}) } else { json!({ENDPOINT_CONTROLLER_NAME: "them"}) };
        let harness = Harness::start(Duration::ZERO, |cache| {
            cache.delegate("web");
            cache.has_service_like("web", json!({"metadata": {"labels": labels}}));
            cache.put(slice("ours", ENDPOINTSLICE_CONTROLLER));
        });
        harness.api.settle().await;
        let deleted: &[&str] = if is_ours_again { &[] } else { &["DELETE ours"] };
        assert_eq!(harness.api.requests(), deleted);
        assert_eq!(harness.api.service_lookups(), ["web"]);
        assert_eq!(harness.remembers("web").contains(&"doubtful"), is_ours_again);
        harness.api.service(service("web", json!({})));
        harness.api.settle().await;
        assert!(!harness.remembers("web").contains(&"doubtful"), "{:?}", harness.remembers("web"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_a_slice_is_forgotten_with_the_delegation() {
    let harness = settled().await;
    let mut given = harness.api.stored("web-1").unwrap();
    given.metadata.labels.get_or_insert_default().insert(MANAGED_BY.to_owned(), "them".to_owned());
    harness.api.put(given);
    harness.api.settle().await;
    assert!(harness.remembers("web").contains(&"losses"), "{:?}", harness.remembers("web"));
    harness.api.remove::<Service>("web");
    harness.api.delegate("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-", "DELETE web-2"]);
    assert!(!harness.remembers("web").contains(&"losses"), "{:?}", harness.remembers("web"));
}

#[tokio::test(start_paused = true)]
async fn a_failed_deletion_is_retried() {
    let harness = settled().await;
    harness.api.refuse(2);
    harness.api.remove::<Service>("web");
    harness.api.delegate("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["DELETE web-1"; 3]);
    assert_eq!(harness.slice_count("web"), 1, "theirs");
}

/// The slice was relabelled too, and the cache doesn't show that yet.
#[tokio::test(start_paused = true)]
async fn a_slice_given_to_another_controller_is_not_deleted() {
    let harness = settled().await;
    let mut given = harness.api.stored("web-1").unwrap();
    given.metadata.labels.get_or_insert_default().insert(MANAGED_BY.to_owned(), "them".to_owned());
    let given = harness.api.put_without_event(given);
    harness.api.remove::<Service>("web");
    harness.api.delegate("web");
    harness.api.settle().await;
    assert_eq!(
        harness.api.requests().first().map(String::as_str),
        Some("DELETE web-1"),
        "the write was sent"
    );
    assert!(harness.api.stored("web-1").is_some());
    harness.api.put(given);
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.advance(Duration::from_secs(3600)).await;
    assert_eq!((harness.slice_count("web"), harness.api.requests()), (2, vec![]));
    assert_eq!(harness.api.events(), []);
}

/// Between the two events neither watch shows the Service, whose slices were just written.
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
    assert_eq!(harness.api.requests(), ["PUT web-1", "DELETE web-1"], "not refused, and without delay");
}

/// The deletions are the garbage collector's.
#[tokio::test(start_paused = true)]
async fn deletions_of_slices_after_their_service_cause_no_sync() {
    let harness = settled().await;
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    let syncs = harness.syncs();
    harness.api.delete("web-1");
    harness.api.settle().await;
    assert_eq!((harness.syncs(), harness.api.requests()), (syncs, vec![]));
}

/// The cache may show our own write only after the Service was labelled.
#[tokio::test(start_paused = true)]
async fn a_slice_that_the_cache_shows_late_is_deleted_too() {
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
        assert_eq!(harness.api.requests(), ["POST web-"], "the cache does not show the slice");
        harness.api.release_events();
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web-", "DELETE web-1"]);
    }
}
