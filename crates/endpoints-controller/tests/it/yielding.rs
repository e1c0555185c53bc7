//! Another writer of the same Endpoints, and the feature gate `YieldToOtherWriters`.

use std::sync::Arc;

use endpoint_informers::yielding::{GRACE, Yielding};
use endpointslice::{Pod, Service};
use serde_json::json;

use crate::harness::Harness;
use crate::objects::{pod, service};
use crate::{MOMENT, NONE};

/// Two Services with a pod each, and a controller that has written them, because nothing else does.
async fn acting() -> Harness {
    let policy = Arc::new(Yielding::new("endpoints-controller", |_, _| {}));
    let harness = Harness::start_with_policy(policy, |api| {
        for (name, address) in [("web", "10.0.0.1"), ("db", "10.0.1.1")] {
            api.service(service(name, json!({})));
            api.pod(pod(&format!("{name}-1"), &[address], true));
        }
    });
    harness.api.advance(2 * GRACE).await;
    harness
}

/// Nothing is left to write for a Service that is deleted with its Endpoints, and no sync comes to forget it.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_deleted_meanwhile_is_forgotten() {
    let harness = acting().await;
    assert!(!harness.remembers("web").is_empty());
    harness.api.forget_requests();
    harness.edit("db", |endpoints| {
        endpoints.metadata.annotations.get_or_insert_default().insert("example.com/turn".into(), "1".into());
    });
    harness.api.remove::<Service>("web");
    harness.api.delete("web");
    harness.api.advance(MOMENT).await;
    assert_eq!(
        (harness.remembers("web"), harness.api.requests()),
        (Vec::new(), NONE.map(String::from).to_vec())
    );
    assert!(!harness.remembers("db").is_empty());
}

/// The event of our own write is no foreign one: nothing else queues a change that comes between the write and its event. This
/// one asks for what the cache still shows.
#[tokio::test(start_paused = true)]
async fn a_change_that_comes_before_the_event_of_our_write_is_not_lost() {
    let harness = acting().await;
    harness.api.forget_requests();
    for number in 0..9 {
        harness.edit("web", |endpoints| {
            endpoints.metadata.annotations.get_or_insert_default().insert("turn".into(), number.to_string());
        });
        if number == 0 {
            harness.api.pod(pod("db-2", &["10.0.1.2"], true));
        }
        harness.api.advance(GRACE / 10).await;
    }
    harness.api.hold_events();
    harness.api.advance(GRACE / 10 + MOMENT).await;
    assert_eq!(harness.api.requests(), ["PUT db"], "db was passed over");
    harness.api.remove::<Pod>("db-2");
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests(), ["PUT db"], "the cache does not show the first write");
    harness.api.release_events();
    harness.api.advance(3 * GRACE).await;
    assert_eq!(harness.addresses("db"), ["10.0.1.1"]);
}
