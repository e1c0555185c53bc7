//! Objects that the first list shows and that can't be read.

use std::time::Duration;

use endpointslice::{Node, Pod, Service};
use serde_json::json;

use crate::NONE;
use crate::harness::{Harness, pod, service};

/// A controller that has published `web-1` and `web-2`, and another that starts on a cache that `damage` has filled.
async fn restarted(damage: impl FnOnce(&Harness)) -> Harness {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        api.pod(pod("web-1", "10.0.0.1", true));
        api.pod(pod("web-2", "10.0.0.2", true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    harness.api.forget_requests();
    // What the first list of the next process shows.
    for name in ["web-1", "web-2"] {
        harness.api.remove::<Pod>(name);
    }
    damage(&harness);
    let harness = harness.restart().await;
    harness.api.settle().await;
    harness
}

/// Upstream can't start on such a list. A pod that can't be read may be ready, so its endpoint stays, and with it all
/// that the Service has published.
#[tokio::test(start_paused = true)]
async fn the_endpoint_of_a_pod_that_cannot_be_read_is_kept() {
    let harness = restarted(|harness| {
        harness.api.upsert_unreadable::<Pod>("web-1");
        harness.api.pod(pod("web-2", "10.0.0.2", false));
    })
    .await;
    assert_eq!(harness.api.requests(), NONE);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
    harness.api.pod(pod("web-1", "10.0.0.1", true));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["PUT web-1"], "as soon as it can be read");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_read_and_has_no_endpoint_holds_up_nobody() {
    let harness = restarted(|harness| {
        harness.api.upsert_unreadable::<Pod>("web-3");
        harness.api.upsert_unreadable::<Pod>("");
        harness.api.pod(pod("web-1", "10.0.0.1", true));
    })
    .await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}

/// Without its Node, a pod has no endpoint.
#[tokio::test(start_paused = true)]
async fn the_endpoints_on_a_node_that_cannot_be_read_are_kept() {
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
async fn the_slices_of_a_service_that_cannot_be_read_are_left_alone() {
    let harness = restarted(|harness| {
        harness.api.remove::<Service>("web");
        harness.api.upsert_unreadable::<Service>("web");
        harness.api.delegate("web");
    })
    .await;
    assert_eq!(harness.api.requests(), NONE, "it has not been given to another controller");
}
