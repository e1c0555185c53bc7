//! Plans that wait for the rate limit are recorded at their turn, as those that are written at once.

use std::time::Duration;

use endpointslice::well_known::TOPOLOGY_MODE;
use serde_json::json;

use crate::harness::{Harness, pod, service};

const SECOND: Duration = Duration::from_secs(1);

/// One of two Services takes the only token.
#[tokio::test(start_paused = true)]
async fn a_plan_that_waits_reports_its_hints_once() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.limit(0.1, 1);
        cache.node("node-1", "zone-a");
        for (name, address) in [("shop", "10.0.1.1"), ("web", "10.0.0.1")] {
            cache.service(service(name, json!({"metadata": {"annotations": {TOPOLOGY_MODE: "Auto"}}})));
            cache.pod(pod(&format!("{name}-1"), address, true));
        }
    });
    harness.api.advance(60 * SECOND).await;
    assert_eq!(harness.api.requests().len(), 2);
    let events = harness.api.events();
    let reasons: Vec<&str> = events.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["TopologyAwareHintsDisabled"; 2]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_waits_makes_no_empty_series() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.limit(0.1, 1);
        cache.service(service("shop", json!({})));
    });
    harness.api.settle().await;
    harness.api.service(service("web", json!({"spec": {"trafficDistribution": "PreferClose"}})));
    harness.api.advance(SECOND).await;
    let series = "endpoint_slice_controller_endpointslices_changed_per_sync_count\
                  {topology=\"Disabled\",traffic_distribution=\"PreferClose\"}";
    assert!(!harness.has_metric(series));
    harness.api.advance(60 * SECOND).await;
    assert_eq!(harness.metric(series), 1);
}

/// Another Service takes the token a second before the change of `web` may wait no longer for company.
#[tokio::test(start_paused = true)]
async fn a_change_that_waits_for_company_and_then_for_its_turn_expires_once() {
    let harness = Harness::start_coalescing(true, 2, |cache| {
        cache.limit(0.05, 4);
        cache.node("node-1", "zone-a");
        cache.service(service("shop", json!({})));
        cache.pod(pod("shop-1", "10.0.1.1", true));
        cache.service(service("web", json!({})));
        (1..=3)
            .for_each(|number| cache.pod(pod(&format!("web-{number}"), &format!("10.0.0.{number}"), true)));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 3);
    harness.api.pod(pod("web-4", "10.0.0.4", false));
    harness.api.advance(4 * SECOND).await;
    harness.api.pod(pod("shop-1", "10.0.1.1", false));
    harness.api.advance(2 * SECOND).await;
    let counts = || {
        ["deferred_writes", "deferred_writes_expired"]
            .map(|name| harness.metric(&format!("endpoint_slice_controller_{name}")))
    };
    assert_eq!((counts(), harness.api.requests().len()), ([1, 0], 4));
    harness.api.advance(20 * SECOND).await;
    assert_eq!((counts(), harness.api.addresses("web").len()), ([1, 1], 4));
}
