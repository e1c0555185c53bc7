//! The feature gate `EndpointSliceTerminatingCondition`, changed by a restart.

use controller_harness::merged;
use endpointslice::desired::Conditions;
use serde_json::{Value, json};

use crate::harness::{Harness, pod};

fn terminating(name: &str, address: &str) -> Value {
    merged(pod(name, address, true), json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))
}

/// The address and conditions of each endpoint, ordered by address.
fn shown(harness: &Harness) -> Vec<Value> {
    let endpoints = harness.api.endpoints("web").into_iter();
    let mut shown: Vec<Value> = endpoints.map(|it| json!([it.addresses.first(), it.conditions])).collect();
    shown.sort_by_key(ToString::to_string);
    shown
}

#[tokio::test(start_paused = true)]
async fn disabling_the_gate_drops_terminating_pods_and_conditions_without_extra_writes() {
    let harness = Harness::with_web(2).await;
    let full =
        |ready: bool, terminating: bool| json!({"ready": ready, "serving": true, "terminating": terminating});
    assert_eq!(
        shown(&harness),
        [json!(["10.0.0.1", full(true, false)]), json!(["10.0.0.2", full(true, false)])]
    );

    let harness = harness.restart_with(Conditions::ReadyOnly).await;
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new(), "the gate alone causes no write");
    harness.api.pod(terminating("web-2", "10.0.0.2"));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["PUT web-1"]);
    assert_eq!(shown(&harness), [json!(["10.0.0.1", {"ready": true}])]);

    let harness = harness.restart_with(Conditions::All).await;
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["PUT web-1"]);
    assert_eq!(
        shown(&harness),
        [json!(["10.0.0.1", full(true, false)]), json!(["10.0.0.2", full(false, true)])]
    );
}
