//! Objects that the first list shows and that can't be read.

use std::time::Duration;

use endpoint_informers::cache::CachedEndpoints;
use endpointslice::{Pod, Service};
use serde_json::json;

use crate::harness::Harness;
use crate::objects::{pod, service};
use crate::{NONE, web};

/// A controller that has written `web`, and another that starts on a cache that `damage` has filled.
async fn restarted(damage: impl FnOnce(&Harness)) -> Harness {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
        api.pod(pod("web-2", &["10.0.0.2"], true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web"]);
    harness.api.forget_requests();
    damage(&harness);
    let harness = harness.restart().await;
    harness.api.settle().await;
    harness
}

#[tokio::test(start_paused = true)]
async fn the_object_of_a_service_that_cannot_be_read_is_not_deleted() {
    for name in ["web", ""] {
        let harness = restarted(|harness| {
            harness.api.remove::<Service>("web");
            harness.api.upsert_unreadable::<Service>(name);
        })
        .await;
        assert_eq!(harness.api.requests(), NONE, "{name:?}");
        harness.api.service(service("web", json!({})));
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), NONE, "it is as it should be");
    }
}

/// A Service that could not be read and is then deleted takes its object with it, when the sync is tried again.
#[tokio::test(start_paused = true)]
async fn the_object_goes_when_the_service_is_deleted() {
    let harness = restarted(|harness| {
        harness.api.remove::<Service>("web");
        harness.api.upsert_unreadable::<Service>("web");
    })
    .await;
    harness.api.remove::<Service>("web");
    harness.api.advance(Duration::from_secs(1000)).await;
    assert_eq!(harness.api.requests(), ["DELETE web"]);
}

#[tokio::test(start_paused = true)]
async fn the_address_of_a_pod_that_cannot_be_read_is_kept() {
    let harness = restarted(|harness| {
        harness.api.remove::<Pod>("web-1");
        harness.api.upsert_unreadable::<Pod>("web-1");
        harness.api.pod(pod("web-2", &["10.0.0.2"], false));
    })
    .await;
    assert_eq!(harness.api.requests(), NONE);
    harness.api.pod(pod("web-1", &["10.0.0.1"], true));
    harness.api.settle().await;
    assert_eq!(
        (harness.api.requests(), harness.addresses("web")),
        (vec!["PUT web".to_owned()], vec!["10.0.0.1".into()])
    );
}

/// To create it would be refused for ever.
#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_not_created() {
    let harness = restarted(|harness| {
        harness.api.remove::<CachedEndpoints>("web");
        harness.api.upsert_unreadable::<CachedEndpoints>("web");
    })
    .await;
    assert_eq!(harness.api.requests(), NONE);
}
