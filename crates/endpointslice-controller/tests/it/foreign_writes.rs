//! The count of foreign writes.

use std::time::Duration;

use controller_harness::{TestApi, merged, object};
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, MANAGED_BY, SERVICE_NAME};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::harness::{Harness, pod, service, set_label};

/// Creates and updates by other field managers count, and nothing else.
#[tokio::test(start_paused = true)]
async fn foreign_writes_are_counted() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.put(slice("web-before", &json!({})));
    });
    harness.api.settle().await;
    assert_eq!(harness.foreign_writes(), 0, "neither what was there nor our own writes");
    let mut expected = 0;
    for (what, counts, change) in [
        (
            "a create",
            1,
            &(|harness: &Harness| harness.api.put(slice("web-other", &json!({})))) as &dyn Fn(&Harness),
        ),
        ("a change of an annotation", 1, &|harness: &Harness| {
            harness.api.edit_slice("web", |slice| {
                slice.metadata.annotations.get_or_insert_default().insert("a".into(), "b".into());
            });
        }),
        ("a slice that is given away", 1, &|harness: &Harness| {
            harness.api.edit_slice("web", |slice| set_label(slice, MANAGED_BY, "other"));
        }),
        ("a slice of another controller", 0, &|harness: &Harness| {
            harness.api.put(slice("web-foreign", &json!({"metadata": {"labels": {MANAGED_BY: "other"}}})));
        }),
        ("a deletion", 0, &|harness: &Harness| harness.api.delete_slice("web")),
        ("a change of a pod", 0, &|harness: &Harness| harness.api.pod(pod("web-1", "10.0.0.1", true))),
        ("a relist without a change", 0, &|harness: &Harness| harness.api.relist()),
    ] {
        change(&harness);
        harness.api.settle().await;
        expected += counts;
        assert_eq!(harness.foreign_writes(), expected, "{what}");
    }
}

/// A write that only removes fields of others leaves no entry of its own, so that its version tells that it is ours. The watch
/// shows it before the response does.
#[tokio::test(start_paused = true)]
async fn removing_a_label_that_another_client_set_is_no_foreign_write() {
    let labelled = |labels: Value| service("web", json!({"metadata": {"labels": labels}}));
    let fill = |api: &TestApi| {
        api.node("node-1", "zone-a");
        api.pod(pod("web-1", "10.0.0.1", true));
        api.service(labelled(json!({"team": "a"})));
    };
    let first = Harness::start(Duration::ZERO, fill);
    first.api.settle().await;
    let mut slice = first.ours().remove(0);
    slice.metadata.managed_fields = None;
    let harness = Harness::start(Duration::ZERO, |api| {
        fill(api);
        api.put(slice);
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), [""; 0]);
    harness.api.service(labelled(json!({})));
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 1);
    let managers = harness.ours().remove(0).metadata.managed_fields.unwrap_or_default();
    assert_eq!(managers.len(), 1, "{managers:?}");
    assert_eq!(harness.foreign_writes(), 0);
}

fn slice(name: &str, more: &Value) -> EndpointSlice {
    let labels = json!({SERVICE_NAME: "web", MANAGED_BY: ENDPOINTSLICE_CONTROLLER});
    let slice = json!({"metadata": {"name": name, "labels": labels}, "addressType": "IPv4", "endpoints": []});
    object(merged(slice, more.clone()))
}
