//! Another writer of the same slices, and the feature gate `YieldToOtherWriters`.

use std::sync::Arc;

use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::yielding::{GRACE, Yielding};
use serde_json::json;

use crate::harness::{Harness, endpoints, service};

/// Nothing is left to write for Endpoints that are deleted with their slices, and no sync comes to forget them.
#[tokio::test(start_paused = true)]
async fn endpoints_that_are_deleted_meanwhile_are_forgotten() {
    let policy = Arc::new(Yielding::new("endpointslice-mirroring-controller", |_, _| {}));
    let harness = Harness::start_with_policy(policy, |api| {
        for (name, address) in [("web", "10.0.0.1"), ("db", "10.0.1.1")] {
            api.service(service(name, json!({})));
            api.upsert::<CachedEndpoints>(endpoints(name, &[address], json!({})));
        }
    })
    .await;
    harness.api.advance(2 * GRACE).await;
    harness.writes().await;
    let desired = || harness.metric("endpoints_desired");
    assert_eq!(desired(), 2);
    harness.api.edit_slice("db", |slice| {
        slice.metadata.annotations.get_or_insert_default().insert("example.com/turn".into(), "1".into());
    });
    harness.api.remove::<CachedEndpoints>("web");
    harness.api.delete_slice("web");
    harness.now().await;
    assert_eq!((desired(), harness.api.requests()), (1, Vec::new()));
}
