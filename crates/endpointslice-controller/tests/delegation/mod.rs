//! Services that belong to another controller. The cache shows two views, of ours and of theirs, and neither waits for
//! the other.

use std::time::Duration;

use endpoint_informers::cache::DelegatedService;
use endpointslice::Service;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, MANAGED_BY, SERVICE_NAME};
use fake_api::NAMESPACE;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;

use crate::fake::{self, Fake, pod, service};

const NOTHING: [&str; 0] = [];

/// A slice of `web` by this controller.
fn slice(name: &str, managed_by: &str) -> EndpointSlice {
    let labels = json!({SERVICE_NAME: "web", MANAGED_BY: managed_by});
    let metadata = json!({"name": name, "namespace": NAMESPACE, "labels": labels});
    fake::slice(json!({"metadata": metadata, "addressType": "IPv4", "endpoints": [], "ports": []}))
}

/// A Service with one slice of ours and one of another controller.
async fn settled() -> Fake {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
        cache.put(slice("theirs", "them"));
    });
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    fake.forget_requests();
    fake
}

#[tokio::test(start_paused = true)]
async fn our_slices_go_when_both_views_say_so_in_whatever_order() {
    type Step = fn(&Fake);
    let steps: [Step; 2] = [|fake| fake.hide::<Service>("web"), |fake| fake.delegate("web")];
    for order in [[0, 1], [1, 0]] {
        let fake = settled().await;
        steps[order[0]](&fake);
        fake.settle().await;
        assert_eq!(fake.requests(), NOTHING, "after one");
        steps[order[1]](&fake);
        fake.settle().await;
        assert_eq!(fake.requests(), ["DELETE web-1"]);
        assert!(fake.stored("theirs").is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_deleted_costs_no_request() {
    let fake = settled().await;
    fake.hide::<Service>("web");
    fake.settle().await;
    assert_eq!(fake.requests(), NOTHING, "the garbage collector does it");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_comes_back_gets_its_slices_back() {
    let fake = settled().await;
    fake.hide::<Service>("web");
    fake.delegate("web");
    fake.settle().await;
    fake.forget_requests();
    // The other view may stay behind for a while.
    fake.service(service("web", json!({})));
    fake.settle().await;
    fake.hide::<DelegatedService>("web");
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_delegated_service_costs_nothing() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.delegate("web");
        cache.put(slice("theirs", "them"));
    });
    fake.settle().await;
    fake.node("node-1", "zone-a");
    fake.pod(pod("web-1", "10.0.0.1", true));
    fake.delegate("web");
    fake.edit_slice("web", |slice| drop(slice.endpoints.take()));
    fake.settle().await;
    assert_eq!((fake.syncs(), fake.requests()), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_ours_goes_at_start() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.delegate("web");
        cache.put(slice("ours", ENDPOINTSLICE_CONTROLLER));
        cache.put(slice("theirs", "them"));
    });
    fake.settle().await;
    assert_eq!(fake.requests(), ["DELETE ours"]);
    let fake = fake.restart().await;
    fake.settle().await;
    assert_eq!((fake.syncs(), fake.requests()), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_fails_is_tried_again() {
    let fake = settled().await;
    fake.refuse(2);
    fake.hide::<Service>("web");
    fake.delegate("web");
    fake.settle().await;
    assert_eq!(fake.requests(), ["DELETE web-1"; 3]);
    assert_eq!(fake.slice_count("web"), 1, "theirs");
}

/// The slice was given to another controller as well, and the cache doesn't show that yet.
#[tokio::test(start_paused = true)]
async fn a_slice_that_is_not_ours_any_more_stays() {
    let fake = settled().await;
    let mut given = fake.stored("web-1").unwrap();
    given.metadata.labels.get_or_insert_default().insert(MANAGED_BY.to_owned(), "them".to_owned());
    let given = fake.put_unseen(given);
    fake.hide::<Service>("web");
    fake.delegate("web");
    fake.settle().await;
    assert_eq!(fake.requests().first().map(String::as_str), Some("DELETE web-1"), "it was tried");
    assert!(fake.stored("web-1").is_some());
    fake.put(given);
    fake.settle().await;
    fake.forget_requests();
    fake.advance(Duration::from_secs(3600)).await;
    assert_eq!((fake.slice_count("web"), fake.requests()), (2, vec![]));
    assert_eq!(fake.told(), []);
}

/// Between the two views nothing is known of the Service, and its slices were written a moment ago.
#[tokio::test(start_paused = true)]
async fn no_deletion_is_sent_before_the_cache_shows_our_last_write() {
    let fake = settled().await;
    fake.hold_events();
    fake.pod(pod("web-2", "10.0.0.2", true));
    fake.advance(Duration::from_millis(1)).await;
    fake.hide::<Service>("web");
    fake.advance(Duration::from_millis(1)).await;
    fake.delegate("web");
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(fake.requests(), ["PUT web-1"]);
    fake.release_events();
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(fake.requests(), ["PUT web-1", "DELETE web-1"], "not refused, and at once");
}

/// The garbage collector's deletions cost no sync.
#[tokio::test(start_paused = true)]
async fn slices_that_go_after_their_service_are_no_reason_to_look() {
    let fake = settled().await;
    fake.hide::<Service>("web");
    fake.settle().await;
    let syncs = fake.syncs();
    fake.take("web-1");
    fake.settle().await;
    assert_eq!((fake.syncs(), fake.requests()), (syncs, vec![]));
}

/// Our own write may become visible only after the Service has changed hands.
#[tokio::test(start_paused = true)]
async fn a_slice_that_shows_late_goes_as_well() {
    let delegate: fn(&Fake) = |fake| {
        fake.delegate("web");
        fake.hide::<Service>("web");
    };
    let in_two_steps: fn(&Fake) = |fake| fake.hide::<Service>("web");
    for change in [delegate, in_two_steps] {
        let fake = Fake::start(Duration::ZERO, |cache| {
            cache.node("node-1", "zone-a");
        });
        fake.settle().await;
        fake.hold_events();
        fake.service(service("web", json!({})));
        fake.settle().await;
        assert_eq!(fake.requests(), ["POST web-"]);
        change(&fake);
        fake.settle().await;
        fake.delegate("web");
        fake.settle().await;
        assert_eq!(fake.requests(), ["POST web-"], "not seen yet");
        fake.release_events();
        fake.settle().await;
        assert_eq!(fake.requests(), ["POST web-", "DELETE web-1"]);
    }
}
