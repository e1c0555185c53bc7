//! Failed writes, conflicts, and a cache behind our own writes.

use std::time::Duration;

use controller_harness::merged;
use serde_json::json;

use crate::harness::{Harness, endpoints};
use crate::objects::{pod, stored};
use crate::{MOMENT, web};

#[tokio::test(start_paused = true)]
async fn a_sync_waits_for_a_cache_behind_our_own_write() {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.hold_events();
    harness.api.pod(pod("web-1", &["10.0.0.1"], true));
    harness.api.advance(MOMENT).await;
    let since = json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T00:00:00Z"}]);
    let second = merged(pod("web-2", &["10.0.0.2"], true), json!({"status": {"conditions": since}}));
    harness.api.pod(second);
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["PUT web"], "the cache doesn't show the first write");
    harness.api.release_events();
    harness.api.advance(MOMENT).await;
    assert_eq!(
        harness.api.requests(),
        ["PUT web", "PUT web"],
        "the event requeues the key, not the back-off"
    );
    assert_eq!(harness.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(harness.api.events(), []);
    let annotations = harness.api.stored("web").unwrap().metadata.annotations.unwrap();
    let time = &annotations["endpoints.kubernetes.io/last-change-trigger-time"];
    assert_eq!(time, "2026-01-02T00:00:00Z", "the trigger time survives the wait");
}

/// Upstream emits a Warning for each such create.
#[tokio::test(start_paused = true)]
async fn a_create_that_finds_an_unseen_object_emits_no_warning() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.put_without_event(endpoints(stored("web", json!([]), json!({}))));
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.settle().await;
    let requests = harness.api.requests();
    assert!(requests.len() > 1 && requests.iter().all(|request| request == "POST web"), "{requests:?}");
    assert_eq!(harness.api.events(), []);
    harness.api.forget_requests();
    harness.api.put(harness.api.stored("web").unwrap());
    harness.api.advance(MOMENT).await;
    assert_eq!((harness.api.requests(), harness.addresses("web").len()), (vec!["PUT web".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_retried_without_an_event() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.put(endpoints(stored("web", json!([]), json!({}))));
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.conflict(2);
    harness.api.settle().await;
    assert_eq!((harness.api.requests().len(), harness.addresses("web").len()), (3, 1));
    assert_eq!(harness.api.events(), []);
}

/// The first delay of client-go's default rate limiter (`workqueue.DefaultTypedControllerRateLimiter`).
#[tokio::test(start_paused = true)]
async fn a_failed_write_is_retried_after_five_milliseconds() {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.refuse(1);
    harness.api.advance(Duration::from_millis(4)).await;
    assert_eq!(harness.api.requests().len(), 1);
    harness.api.advance(Duration::from_millis(4)).await;
    assert_eq!(harness.api.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_retried_without_limit() {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.refuse(40);
    for _ in 0..40 {
        harness.api.advance(Duration::from_secs(1001)).await;
    }
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 41);
    assert!(harness.api.stored("web").is_some());
    assert_eq!(harness.metric("workqueue_depth{name=\"endpoint\"}"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_emits_an_event_in_the_namespace_of_the_service() {
    let events = async |harness: Harness| {
        harness.api.refuse(1);
        harness.api.settle().await;
        let [event] = &harness.api.event_objects()[..] else { panic!("{:?}", harness.api.event_objects()) };
        assert_eq!(
            (&event["type"], &event["source"]["component"]),
            (&json!("Warning"), &json!("endpoint-controller"))
        );
        let object = &event["involvedObject"];
        assert_eq!(
            (&object["kind"], &object["namespace"], &object["name"]),
            (&json!("Endpoints"), &json!("default"), &json!("web"))
        );
        (harness.api.events().remove(0), object["uid"].clone())
    };
    let create = events(Harness::start(Duration::ZERO, |api| api.service(web()))).await;
    let message = "Failed to create endpoint for service default/web: exceeded quota";
    assert_eq!(create, (("FailedToCreateEndpoint".to_owned(), message.to_owned()), json!(null)));
    let ((reason, message), uid) = events(Harness::start(Duration::ZERO, |api| {
        api.put(endpoints(stored("web", json!([{"addresses": [{"ip": "6.7.8.9"}]}]), json!({}))));
        api.service(web());
    }))
    .await;
    assert_eq!(reason, "FailedToUpdateEndpoint");
    assert_eq!(message, "Failed to update endpoint default/web: exceeded quota");
    assert!(uid.is_string());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_in_a_terminating_namespace() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.terminate_namespace();
        api.service(web());
    });
    harness.api.settle().await;
    assert_eq!(
        (harness.api.requests(), harness.api.events()),
        (vec!["POST web".to_owned()], vec![]),
        "once, and no word about it"
    );
}
