//! Failed writes, conflicts, refused addresses, and a cache behind our own writes.

use std::time::Duration;

use endpoint_informers::kinds::CachedSlice;
use serde_json::json;

use crate::harness::{Harness, pod, service};

/// The API server answers, but its watch delivers nothing for a while.
#[tokio::test(start_paused = true)]
async fn a_sync_waits_for_a_cache_behind_our_own_write() {
    let harness = Harness::with_web(0).await;
    harness.api.hold_events();
    harness.api.pod(pod("web-1", "10.0.0.1", true));
    harness.api.advance(Duration::from_millis(1)).await;
    harness.api.pod(pod("web-2", "10.0.0.2", true));
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(
        harness.api.requests(),
        ["PUT web-1"],
        "the second change waits: the cache doesn't show the first write"
    );
    harness.api.release_events();
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(
        harness.api.requests(),
        ["PUT web-1", "PUT web-1"],
        "the event requeues the key, not the back-off"
    );
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
}

/// The first delay of upstream's rate limiter (`endpointslice_controller.go` `defaultSyncBackOff`).
#[tokio::test(start_paused = true)]
async fn a_failed_write_is_retried_after_a_second() {
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    harness.api.refuse(1);
    harness.api.advance(Duration::from_millis(990)).await;
    assert_eq!(harness.api.requests().len(), 1);
    harness.api.advance(Duration::from_millis(20)).await;
    assert_eq!(harness.api.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_retried_without_limit() {
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    harness.api.refuse(40);
    harness.api.settle().await;
    for _ in 0..40 {
        harness.api.advance(Duration::from_secs(1001)).await;
    }
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 41);
    assert_eq!(harness.slice_count("web"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_emits_an_event_and_a_conflict_does_not() {
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    harness.api.conflict(2);
    harness.api.settle().await;
    assert_eq!((harness.slice_count("web"), harness.api.events()), (1, vec![]));
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    harness.api.refuse(1);
    harness.api.settle().await;
    assert_eq!(harness.slice_count("web"), 1);
    let [(reason, message)] = &harness.api.events()[..] else { panic!("{:?}", harness.api.events()) };
    assert_eq!(reason, "FailedToUpdateEndpointSlices");
    let expected = "Error updating Endpoint Slices for Service default/web: \
                    failed to create EndpointSlice default/web-: exceeded quota";
    assert_eq!(message, expected);
}

/// The garbage collector or another client deletes it first.
#[tokio::test(start_paused = true)]
async fn an_update_of_a_deleted_slice_emits_no_event() {
    let harness = Harness::with_web(0).await;
    let name = harness.api.delete_slice_without_event("web");
    harness.api.pod(pod("web-1", "10.0.0.1", true));
    harness.api.settle().await;
    assert_eq!(harness.api.requests().first(), Some(&format!("PUT {name}")), "the write was sent");
    harness.api.remove::<CachedSlice>(&name);
    harness.api.settle().await;
    assert_eq!((harness.api.addresses("web"), harness.api.events()), (vec!["10.0.0.1".to_owned()], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_failed_address_type_does_not_keep_the_other_from_being_counted() {
    let families = json!({"spec": {"ipFamilies": ["IPv4", "IPv6"]}});
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", families)));
    harness.api.refuse(1);
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!((harness.slice_count("web"), harness.changed_per_sync()), (1, [1, 1]));
    harness.api.settle().await;
    assert_eq!((harness.slice_count("web"), harness.changed_per_sync()), (2, [3, 2]));
}

/// k3s#12552: upstream sends the address, and the API server refuses the whole slice.
#[tokio::test(start_paused = true)]
async fn a_refused_address_is_left_out_and_named_in_an_event() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "127.0.0.1", true));
        cache.pod(pod("web-2", "10.0.0.2", true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.2"]);
    let [(reason, message)] = &harness.api.events()[..] else { panic!("{:?}", harness.api.events()) };
    assert_eq!(reason, "InvalidIPAddress");
    assert_eq!(message, "Skipping IP address 127.0.0.1 of Pod web-1: not allowed in EndpointSlices");
    assert_eq!(harness.addresses_skipped(), harness.syncs(), "one in each sync");
}

/// As upstream, whose sync ends at the refused create.
#[tokio::test(start_paused = true)]
async fn no_change_is_counted_in_a_terminating_namespace() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.terminate_namespace();
        api.service(service("web", json!({})));
    });
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), harness.api.events()), (vec!["POST web-".to_owned()], vec![]));
    assert_eq!(harness.changed_per_sync(), [0, 0]);
}

/// The API server validates endpoints only if they change.
#[tokio::test(start_paused = true)]
async fn a_slice_with_a_refused_address_is_left_alone_until_its_endpoints_change() {
    let harness = Harness::with_web(2).await;
    harness.api.edit_slice_unchecked("web", |slice| {
        slice.endpoints.as_mut().unwrap()[0].addresses = vec!["169.254.0.1".to_owned()]
    });
    harness.api.pod(pod("web-1", "169.254.0.1", true));
    harness.api.settle().await;
    assert_eq!(
        (harness.api.addresses("web"), harness.api.events()),
        (vec!["10.0.0.2".into(), "169.254.0.1".into()], vec![])
    );
    assert_eq!(harness.addresses_skipped(), 0);

    harness.api.pod(pod("web-3", "10.0.0.3", true));
    harness.api.settle().await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.2", "10.0.0.3"]);
    let message = "Skipping IP address 169.254.0.1 of Pod web-1: not allowed in EndpointSlices";
    assert_eq!(harness.api.events(), [("InvalidIPAddress".to_owned(), message.to_owned())]);
}
