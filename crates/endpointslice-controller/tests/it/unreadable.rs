//! Objects of the first list that can't be decoded.

use endpointslice::{Node, Pod, Service};

use crate::NONE;
use crate::harness::{Harness, pod};

/// Publishes `web-1` and `web-2` with one controller, and starts another on the cache after `damage`.
async fn restarted(damage: impl FnOnce(&Harness)) -> Harness {
    let harness = Harness::with_web(2).await;
    // The first list of the next process.
    for name in ["web-1", "web-2"] {
        harness.api.remove::<Pod>(name);
    }
    damage(&harness);
    let harness = harness.restart().await;
    harness.api.settle().await;
    harness
}

/// Upstream's informer fails on such a list. The pod may be ready, so its endpoint stays, and so do all slices of the
/// Service.
#[tokio::test(start_paused = true)]
async fn the_endpoint_of_a_pod_that_cannot_be_decoded_is_kept() {
    let harness = restarted(|harness| {
        harness.api.upsert_unreadable::<Pod>("web-1");
        harness.api.pod(pod("web-2", "10.0.0.2", false));
    })
    .await;
    assert_eq!(harness.api.requests(), NONE);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
    harness.api.pod(pod("web-1", "10.0.0.1", true));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["PUT web-1"], "once the pod can be decoded");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_pod_without_an_endpoint_delays_no_sync() {
    let harness = restarted(|harness| {
        harness.api.upsert_unreadable::<Pod>("web-3");
        harness.api.upsert_unreadable::<Pod>("");
        harness.api.pod(pod("web-1", "10.0.0.1", true));
    })
    .await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}

/// A pod without its Node has no endpoint.
#[tokio::test(start_paused = true)]
async fn the_endpoints_on_a_node_that_cannot_be_decoded_are_kept() {
    for name in ["node-1", ""] {
        let harness = restarted(|harness| {
            harness.api.remove::<Node>("node-1");
            harness.api.upsert_unreadable::<Node>(name);
            harness.api.pod(pod("web-1", "10.0.0.1", true));
            harness.api.pod(pod("web-2", "10.0.0.2", false));
        })
        .await;
        assert_eq!(harness.api.requests(), NONE, "{name}");
        harness.api.node("node-1", "zone-a");
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["PUT web-1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_slices_of_a_service_that_cannot_be_decoded_are_left_alone() {
    let harness = restarted(|harness| {
        harness.api.remove::<Service>("web");
        harness.api.upsert_unreadable::<Service>("web");
        harness.api.delegate("web");
    })
    .await;
    assert_eq!(harness.api.requests(), NONE, "the Service was not labelled");
}
