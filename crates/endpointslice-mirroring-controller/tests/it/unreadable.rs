//! Objects of the first list that can't be decoded.

use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::Service;
use serde_json::json;

use crate::NONE;
use crate::harness::{Harness, endpoints, service};

#[tokio::test(start_paused = true)]
async fn the_slices_of_undecodable_objects_are_left_alone() {
    for name in ["web", ""] {
        let harness = Harness::mirroring(&["10.0.0.1"]).await;
        harness.api.remove::<CachedEndpoints>("web");
        harness.api.upsert_unreadable::<CachedEndpoints>(name);
        let harness = harness.restart().await;
        assert_eq!(harness.writes().await, NONE, "Endpoints {name:?}");
        harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.2"], json!({})));
        assert_eq!(harness.writes().await, ["PUT web-1"]);

        let harness = Harness::mirroring(&["10.0.0.1"]).await;
        harness.api.remove::<Service>("web");
        harness.api.upsert_unreadable::<Service>(name);
        let harness = harness.restart().await;
        assert_eq!(harness.writes().await, NONE, "Service {name:?}");
        harness.api.service(service("web", json!({"spec": {"selector": {"app": "web"}}})));
        assert_eq!(harness.writes().await, ["DELETE web-1"]);
    }
}
