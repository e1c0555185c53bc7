//! Objects that the first list shows and that can't be read.

use std::time::Duration;

use endpointslice::{Node, Pod, Service};
use serde_json::json;

use crate::fake::{Fake, pod, service};

const NONE: [&str; 0] = [];

/// A controller that has published `web-1` and `web-2`, and another that starts on a cache that `damage` has filled.
async fn restarted(damage: impl FnOnce(&Fake)) -> Fake {
    let fake = Fake::start(Duration::ZERO, |api| {
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        api.pod(pod("web-1", "10.0.0.1", true));
        api.pod(pod("web-2", "10.0.0.2", true));
    });
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    fake.forget_requests();
    // What the first list of the next process shows.
    for name in ["web-1", "web-2"] {
        fake.hide::<Pod>(name);
    }
    damage(&fake);
    let fake = fake.restart().await;
    fake.settle().await;
    fake
}

/// Upstream can't start on such a list. A pod that can't be read may be ready, so its endpoint stays, and with it all
/// that the Service has published.
#[tokio::test(start_paused = true)]
async fn the_endpoint_of_a_pod_that_cannot_be_read_is_kept() {
    let fake = restarted(|fake| {
        fake.show_damaged::<Pod>("web-1");
        fake.pod(pod("web-2", "10.0.0.2", false));
    })
    .await;
    assert_eq!(fake.requests(), NONE);
    assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
    fake.pod(pod("web-1", "10.0.0.1", true));
    fake.settle().await;
    assert_eq!(fake.requests(), ["PUT web-1"], "as soon as it can be read");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_read_and_has_no_endpoint_holds_up_nobody() {
    let fake = restarted(|fake| {
        fake.show_damaged::<Pod>("web-3");
        fake.show_damaged::<Pod>("");
        fake.pod(pod("web-1", "10.0.0.1", true));
    })
    .await;
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
}

/// Without its Node, a pod has no endpoint.
#[tokio::test(start_paused = true)]
async fn the_endpoints_on_a_node_that_cannot_be_read_are_kept() {
    for name in ["node-1", ""] {
        let fake = restarted(|fake| {
            fake.hide::<Node>("node-1");
            fake.show_damaged::<Node>(name);
            fake.pod(pod("web-1", "10.0.0.1", true));
            fake.pod(pod("web-2", "10.0.0.2", false));
        })
        .await;
        assert_eq!(fake.requests(), NONE, "{name}");
        fake.node("node-1", "zone-a");
        fake.settle().await;
        assert_eq!(fake.requests(), ["PUT web-1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_slices_of_a_service_that_cannot_be_read_are_left_alone() {
    let fake = restarted(|fake| {
        fake.hide::<Service>("web");
        fake.show_damaged::<Service>("web");
        fake.delegate("web");
    })
    .await;
    assert_eq!(fake.requests(), NONE, "it has not been given to another controller");
}
