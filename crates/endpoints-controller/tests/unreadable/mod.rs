//! Objects that the first list shows and that can't be read.

use std::time::Duration;

use endpoint_informers::cache::CachedEndpoints;
use endpointslice::{Pod, Service};
use serde_json::json;

use crate::fake::Fake;
use crate::support::{pod, service};
use crate::{NONE, web};

/// A controller that has written `web`, and another that starts on a cache that `damage` has filled.
async fn restarted(damage: impl FnOnce(&Fake)) -> Fake {
    let fake = Fake::start(Duration::ZERO, |api| {
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
        api.pod(pod("web-2", &["10.0.0.2"], true));
    });
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web"]);
    fake.forget_requests();
    damage(&fake);
    let fake = fake.restart().await;
    fake.settle().await;
    fake
}

#[tokio::test(start_paused = true)]
async fn the_object_of_a_service_that_cannot_be_read_is_not_deleted() {
    for name in ["web", ""] {
        let fake = restarted(|fake| {
            fake.hide::<Service>("web");
            fake.show_damaged::<Service>(name);
        })
        .await;
        assert_eq!(fake.requests(), NONE, "{name:?}");
        fake.service(service("web", json!({})));
        fake.settle().await;
        assert_eq!(fake.requests(), NONE, "it is as it should be");
    }
}

/// A Service that could not be read and is then deleted takes its object with it, when the sync is tried again.
#[tokio::test(start_paused = true)]
async fn the_object_goes_when_the_service_is_deleted() {
    let fake = restarted(|fake| {
        fake.hide::<Service>("web");
        fake.show_damaged::<Service>("web");
    })
    .await;
    fake.hide::<Service>("web");
    fake.advance(Duration::from_secs(1000)).await;
    assert_eq!(fake.requests(), ["DELETE web"]);
}

#[tokio::test(start_paused = true)]
async fn the_address_of_a_pod_that_cannot_be_read_is_kept() {
    let fake = restarted(|fake| {
        fake.hide::<Pod>("web-1");
        fake.show_damaged::<Pod>("web-1");
        fake.pod(pod("web-2", &["10.0.0.2"], false));
    })
    .await;
    assert_eq!(fake.requests(), NONE);
    fake.pod(pod("web-1", &["10.0.0.1"], true));
    fake.settle().await;
    assert_eq!(
        (fake.requests(), fake.addresses("web")),
        (vec!["PUT web".to_owned()], vec!["10.0.0.1".into()])
    );
}

/// To create it would be refused for ever.
#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_not_created() {
    let fake = restarted(|fake| {
        fake.hide::<CachedEndpoints>("web");
        fake.show_damaged::<CachedEndpoints>("web");
    })
    .await;
    assert_eq!(fake.requests(), NONE);
}
