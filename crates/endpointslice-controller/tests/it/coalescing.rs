//! The feature gate `EndpointSliceCoalescing`: what decides about no traffic waits, and how it ends.

use std::time::Duration;

use controller_harness::{TestApi, merged};
use endpointslice::Pod;
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use serde_json::{Value, json};

use crate::harness::{Harness, pod, service};
use crate::{MOMENT, NONE};

const DEFERRED: &str = "endpoint_slice_controller_deferred_writes";
const EXPIRED: &str = "endpoint_slice_controller_deferred_writes_expired";

/// A pod that is being deleted, and still serves or no longer.
fn terminating(name: &str, address: &str, serving: bool) -> Value {
    merged(pod(name, address, serving), json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))
}

/// A pod whose Ready condition changed at this second.
fn since(pod: Value, second: u32) -> Value {
    let ready = pod["status"]["conditions"][0]["status"].clone();
    let time = format!("2026-01-01T00:00:{second:02}Z");
    merged(
        pod,
        json!({"status": {"conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": time}]}}),
    )
}

fn fill(cache: &TestApi) {
    cache.node("node-1", "zone-a");
    cache.service(service("web", json!({})));
    for number in 1..=3 {
        cache.pod(since(pod(&format!("web-{number}"), &format!("10.0.0.{number}"), true), 0));
    }
}

/// The controller with three ready pods, in slices of two endpoints.
async fn start(coalescing: bool) -> Harness {
    let harness = Harness::start_coalescing(coalescing, 2, fill);
    harness.api.settle().await;
    assert_eq!(harness.slice_count("web"), 2);
    harness.api.forget_requests();
    harness
}

#[tokio::test(start_paused = true)]
async fn without_the_gate_everything_is_written_at_once() {
    let harness = start(false).await;
    harness.api.pod(pod("web-4", "10.0.0.4", false));
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests(), ["PUT web-2"]);
    assert_eq!(harness.metric(DEFERRED), 0);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_not_ready_is_published_with_the_next_urgent_write() {
    let harness = start(true).await;
    harness.api.pod(pod("web-4", "10.0.0.4", false));
    harness.api.advance(Duration::from_secs(4)).await;
    assert_eq!(harness.api.requests(), NONE);
    harness.api.pod(terminating("web-3", "10.0.0.3", true));
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests(), ["PUT web-2"], "at once, and both changes");
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]);
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 1);
    assert_eq!((harness.metric(DEFERRED), harness.metric(EXPIRED)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_change_without_company_waits_5_s() {
    let harness = start(true).await;
    harness.api.pod(terminating("web-1", "10.0.0.1", true));
    harness.api.advance(MOMENT).await;
    harness.api.forget_requests();
    harness.api.pod(terminating("web-1", "10.0.0.1", false));
    harness.api.advance(Duration::from_secs(3)).await;
    harness.api.remove::<Pod>("web-1");
    harness.api.advance(Duration::from_millis(1999)).await;
    assert_eq!(harness.api.requests(), NONE);
    harness.api.advance(Duration::from_millis(2)).await;
    assert_eq!(harness.api.requests(), ["PUT web-1"], "5 s after it stopped serving");
    assert_eq!(harness.api.addresses("web"), ["10.0.0.2", "10.0.0.3"]);
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 1);
    assert_eq!((harness.metric(DEFERRED), harness.metric(EXPIRED)), (1, 1));
    assert_eq!(harness.metric("endpoint_slice_controller_endpoints_removed_per_sync_sum"), 1, "counted once");
}

#[tokio::test(start_paused = true)]
async fn what_is_undone_while_it_waits_is_not_written() {
    let harness = start(true).await;
    harness.api.pod(pod("web-4", "10.0.0.4", false));
    harness.api.advance(Duration::from_secs(1)).await;
    harness.api.remove::<Pod>("web-4");
    harness.api.advance(Duration::from_secs(60)).await;
    assert_eq!(harness.api.requests(), NONE);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_begins_to_prefer_local_endpoints_is_written_at_once() {
    let harness = start(true).await;
    harness.api.pod(terminating("web-1", "10.0.0.1", true));
    harness.api.advance(MOMENT).await;
    harness.api.pod(terminating("web-1", "10.0.0.1", false));
    harness.api.advance(MOMENT).await;
    harness.api.forget_requests();
    harness.api.service(service("web", json!({"spec": {"internalTrafficPolicy": "Local"}})));
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests(), ["PUT web-1"]);
}

#[tokio::test(start_paused = true)]
async fn the_trigger_time_is_that_of_the_change_that_waited() {
    let harness = start(true).await;
    let trigger_time = |harness: &Harness| {
        let slice = harness.api.stored("web-2").unwrap();
        slice.metadata.annotations.unwrap_or_default().remove(LAST_CHANGE_TRIGGER_TIME)
    };
    harness.api.pod(since(pod("web-4", "10.0.0.4", false), 10));
    harness.api.advance(Duration::from_secs(2)).await;
    harness.api.pod(since(pod("web-3", "10.0.0.3", false), 12));
    harness.api.advance(MOMENT).await;
    assert_eq!(trigger_time(&harness).as_deref(), Some("2026-01-01T00:00:10Z"));

    harness.api.remove::<Pod>("web-4");
    harness.api.settle().await;
    harness.api.pod(since(pod("web-5", "10.0.0.5", false), 30));
    harness.api.advance(MOMENT).await;
    harness.api.pod(since(pod("web-5", "10.0.0.5", true), 33));
    harness.api.advance(MOMENT).await;
    assert_eq!(trigger_time(&harness).as_deref(), Some("2026-01-01T00:00:33Z"), "it is ready since then");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_retried_without_another_wait() {
    let harness = start(true).await;
    harness.api.pod(pod("web-4", "10.0.0.4", false));
    harness.api.advance(Duration::from_secs(4)).await;
    harness.api.refuse(1);
    harness.api.advance(Duration::from_millis(1001)).await;
    assert_eq!(harness.api.requests(), ["PUT web-2"]);
    harness.api.advance(Duration::from_secs(1)).await;
    assert_eq!(harness.api.requests(), ["PUT web-2", "PUT web-2"], "the first retry");
    assert_eq!(harness.api.addresses("web").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_new_process_lets_changes_wait_anew() {
    let harness = start(true).await;
    harness.api.pod(pod("web-4", "10.0.0.4", false));
    harness.api.advance(Duration::from_secs(3)).await;
    let api = harness.end().await;
    assert_eq!(api.requests(), NONE);
    let harness = Harness::run_coalescing(&api, true, 2);
    harness.api.advance(Duration::from_secs(4)).await;
    assert_eq!(harness.api.requests(), NONE);
    harness.api.advance(Duration::from_secs(2)).await;
    assert_eq!(harness.api.requests(), ["PUT web-2"]);
}
