//! Another writer of the same Endpoints, and the feature gate `YieldToOtherWriters`.

use std::sync::Arc;

use endpoint_informers::yielding::{GRACE, Yielding};
use endpointslice::Service;
use serde_json::json;

use crate::harness::Harness;
use crate::objects::{pod, service};
use crate::{MOMENT, NONE};

/// Nothing is left to write for a Service that is deleted with its Endpoints, and no sync comes to forget it.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_deleted_meanwhile_is_forgotten() {
    let policy = Arc::new(Yielding::new("endpoints-controller", |_, _| {}));
    let harness = Harness::start_with_policy(policy, |api| {
        for (name, address) in [("web", "10.0.0.1"), ("db", "10.0.1.1")] {
            api.service(service(name, json!({})));
            api.pod(pod(&format!("{name}-1"), &[address], true));
        }
    });
    harness.api.advance(2 * GRACE).await;
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
