//! Objects of the first list that can't be decoded.

use std::time::Duration;

use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::{Pod, Service};
use serde_json::json;

use crate::harness::Harness;
use crate::objects::{pod, service};
use crate::{NONE, web};

/// Writes `web` with one controller, and starts another on the cache after `damage`.
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
async fn the_endpoints_of_a_service_that_cannot_be_decoded_are_not_deleted() {
    for name in ["web", ""] {
        let harness = restarted(|harness| {
            harness.api.remove::<Service>("web");
            harness.api.upsert_unreadable::<Service>(name);
        })
        .await;
        assert_eq!(harness.api.requests(), NONE, "{name:?}");
        harness.api.service(service("web", json!({})));
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), NONE, "the Endpoints are right already");
    }
}

/// The Endpoints are deleted by a retry once the Service is deleted.
#[tokio::test(start_paused = true)]
async fn the_endpoints_of_an_undecodable_service_are_deleted_with_it() {
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
async fn the_address_of_a_pod_that_cannot_be_decoded_is_kept() {
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

/// Only the API server can tell whether they existed then.
#[tokio::test(start_paused = true)]
async fn endpoints_that_cannot_be_decoded_are_deleted_with_their_service() {
    for name in ["web", ""] {
        let harness = restarted(|harness| {
            harness.api.remove::<CachedEndpoints>("web");
            harness.api.upsert_unreadable::<CachedEndpoints>(name);
        })
        .await;
        harness.api.remove::<Service>("web");
        harness.api.advance(Duration::from_secs(15)).await;
        assert_eq!(harness.api.requests(), ["DELETE web"], "{name:?}");
        assert_eq!(harness.api.past_lookups(), ["web"], "{name:?}");
    }
}
