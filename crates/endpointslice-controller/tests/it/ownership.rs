//! Slices that are ours, and slices that another client relabels.

use std::time::Duration;

use controller_harness::merged;
use endpointslice::well_known::{
    ENDPOINTSLICE_CONTROLLER, LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, SERVICE_NAME,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use crate::harness::{Harness, pod, service, set_label};

#[tokio::test(start_paused = true)]
async fn a_new_service_gets_a_placeholder() {
    let labels = json!({"metadata": {"labels": {"team": "shop"}}});
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", labels)));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    let slice = json!(harness.api.slices("web"))[0].take();
    assert_eq!(
        (&slice["addressType"], &slice["endpoints"], &slice["ports"]),
        (&json!("IPv4"), &json!(null), &json!(null))
    );
    let metadata = &slice["metadata"];
    assert_eq!(metadata["annotations"], json!({LAST_CHANGE_TRIGGER_TIME: "2026-01-01T00:00:00Z"}));
    let expected = json!({"team": "shop", SERVICE_NAME: "web", MANAGED_BY: ENDPOINTSLICE_CONTROLLER});
    assert_eq!(metadata["labels"], expected);
    let owner = json!([{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "uid-web", "controller": true,
        "blockOwnerDeletion": true}]);
    assert_eq!(metadata["ownerReferences"], owner);
}

#[tokio::test(start_paused = true)]
async fn only_selected_pods_are_published() {
    let harness = Harness::with_web(1).await;
    harness.api.pod(pod("other-1", "10.0.0.8", true));
    harness.api.pod(merged(pod("web-2", "10.0.0.9", true), json!({"metadata": {"namespace": "elsewhere"}})));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new());
    let target = json!({"kind": "Pod", "namespace": "default", "name": "web-1", "uid": "uid-web-1"});
    assert_eq!(json!(harness.api.endpoints("web")[0].target_ref), target);
    harness
        .api
        .pod(merged(pod("other-1", "10.0.0.8", true), json!({"metadata": {"labels": {"app": "web"}}})));
    harness.api.settle().await;
    assert_eq!(
        (harness.api.requests(), harness.api.endpoints("web").len()),
        (vec!["PUT web-1".to_owned()], 2)
    );
}

/// Upstream turns one of our two slices into a placeholder; here one stays unchanged.
#[tokio::test(start_paused = true)]
async fn only_slices_with_both_labels_are_ours() {
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    harness.api.settle().await;
    harness.api.forget_requests();
    let placeholder = harness.api.slices("web").remove(0);
    let add = |name: &str, edit: &dyn Fn(&mut EndpointSlice)| {
        let mut slice = placeholder.clone();
        slice.metadata.name = Some(name.into());
        edit(&mut slice);
        harness.api.put(slice);
    };
    add("without-manager", &|slice| {
        drop(slice.metadata.labels.as_mut().and_then(|labels| labels.remove(MANAGED_BY)))
    });
    add("of-another-service", &|slice| set_label(slice, SERVICE_NAME, "other"));
    add("of-another-manager", &|slice| set_label(slice, MANAGED_BY, "me"));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new());
    add("web-2", &|_| ());
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["DELETE web-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_slice_being_deleted_is_replaced() {
    let harness = Harness::with_web(1).await;
    let mut slice = harness.api.slices("web").remove(0);
    slice.metadata.name = Some("web-2".into());
    slice.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    slice.endpoints = None;
    harness.api.put(slice);
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), harness.syncs()), (vec![], 2), "synced without a write");
}

/// Upstream waits until the process ends for a slice that it wrote and that was relabelled.
#[tokio::test(start_paused = true)]
async fn a_slice_that_is_relabelled_to_another_owner_is_replaced() {
    let edits: [fn(&mut EndpointSlice); 3] = [
        |slice| set_label(slice, MANAGED_BY, "other"),
        |slice| set_label(slice, SERVICE_NAME, "other"),
        |slice| slice.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH)),
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        let harness = Harness::with_web(1).await;
        harness.api.edit_slice("web", edit);
        harness.api.settle().await;
        assert_eq!(
            harness.api.requests(),
            ["POST web-"],
            "{number}: it is left alone, and the Service gets another"
        );
        harness.api.pod(pod("web-2", "10.0.0.2", true));
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web-", "PUT web-2"], "{number}: later changes are written");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_is_relabelled_to_us_causes_a_sync() {
    let harness = Harness::with_web(1).await;
    let mut slice = harness.api.slices("web").remove(0);
    slice.metadata.name = Some("gift".into());
    set_label(&mut slice, MANAGED_BY, "other");
    harness.api.put(slice.clone());
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new());
    set_label(&mut slice, MANAGED_BY, ENDPOINTSLICE_CONTROLLER);
    harness.api.put(slice);
    harness.api.settle().await;
    assert_eq!(
        harness.api.requests(),
        ["DELETE web-1"],
        "of two with the same endpoint, the first by name stays"
    );
}

#[tokio::test(start_paused = true)]
async fn a_slice_without_a_service_causes_no_sync() {
    let harness = Harness::with_web(1).await;
    let slice = harness.api.slices("web").remove(0);
    for (name, labels) in [("empty", json!({SERVICE_NAME: ""})), ("absent", json!({}))] {
        let labels = merged(json!({MANAGED_BY: ENDPOINTSLICE_CONTROLLER}), labels);
        let mut slice = slice.clone();
        slice.metadata.name = Some(name.into());
        slice.metadata.labels = serde_json::from_value(labels).unwrap();
        harness.api.put(slice);
    }
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), harness.syncs()), (vec![], 1));
}
