//! The write of one sync.

use controller_harness::merged;
use serde_json::{Value, json};

use crate::objects::{address, desired, pod, service, stored, sync};

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const HEADLESS: &str = "service.kubernetes.io/headless";

fn port() -> Value {
    json!({"port": 8080, "protocol": "TCP"})
}

/// One ready pod in one subset.
fn one_subset() -> Value {
    json!([{"addresses": [address("web-1", "10.0.0.1")], "ports": [port()]}])
}

fn one_pod() -> [Value; 1] {
    [pod("web-1", &["10.0.0.1"], true)]
}

fn web() -> Value {
    service("web", json!({}))
}

#[test]
fn absent_and_empty_subsets_are_equal() {
    for subsets in [json!(null), json!([])] {
        assert_eq!(sync(&web(), &[], Some(&stored("web", subsets, json!({}))), None), None);
    }
}

/// Upstream writes at every sync if the Service carries a label that the controller sets itself.
#[test]
fn a_reserved_label_on_the_service_is_not_copied_and_causes_no_write() {
    for (key, value) in [(MANAGED_BY, "me"), (HEADLESS, "yes"), (MANAGED_BY, "endpoint-controller")] {
        let service = service("web", json!({"metadata": {"labels": {key: value, "app": "web"}}}));
        let expected = json!({"app": "web", MANAGED_BY: "endpoint-controller"});
        let written = sync(&service, &one_pod(), None, None).unwrap();
        assert_eq!(written["metadata"]["labels"], expected);
        let stored = stored("web", one_subset(), json!({"metadata": {"labels": {"app": "web"}}}));
        assert_eq!(sync(&service, &one_pod(), Some(&stored), None), None);
    }
}

#[test]
fn an_object_is_replaced_only_if_its_content_differs() {
    let subset = |addresses: Value| json!([{"addresses": addresses, "ports": [port()]}]);
    let (one, two) = (address("web-1", "10.0.0.1"), address("web-2", "10.0.0.2"));
    let pods = [pod("web-1", &["10.0.0.1"], true), pod("web-2", &["10.0.0.2"], true)];
    let write = |subsets: Value| sync(&web(), &pods, Some(&stored("web", subsets, json!({}))), None);
    assert_eq!(write(subset(json!([one, two]))), None);
    assert_eq!(write(subset(json!([two, one]))), None, "in any order");
    assert_eq!(write(json!([subset(json!([one]))[0], subset(json!([two]))[0]])), None, "in whatever subsets");
    let written = write(subset(json!([{"ip": "6.7.8.9"}]))).unwrap();
    assert_eq!(written["subsets"], subset(json!([one, two])));
}

#[test]
fn differences_that_cause_a_write() {
    let pods = [pod("web-1", &["10.0.0.1"], true), pod("web-2", &["10.0.0.2"], false)];
    let subsets = json!([{"addresses": [address("web-1", "10.0.0.1")],
        "notReadyAddresses": [address("web-2", "10.0.0.2")], "ports": [port()]}]);
    let writes =
        |subsets: Value| sync(&web(), &pods, Some(&stored("web", subsets, json!({}))), None).is_some();
    let changed = |change: Value| json!([merged(subsets[0].clone(), change)]);
    let of_pod = |change: Value| json!({"addresses": [merged(address("web-1", "10.0.0.1"), change)]});
    assert!(!writes(subsets.clone()));
    assert!(writes(json!([])));
    assert!(writes(changed(of_pod(json!({"ip": "10.0.0.3"})))));
    assert!(writes(changed(json!({"notReadyAddresses": [address("web-2", "10.0.0.3")]}))));
    for port in [
        json!({"port": 8081}),
        json!({"name": "p"}),
        json!({"protocol": "UDP"}),
        json!({"appProtocol": "h2c"}),
    ] {
        assert!(
            writes(changed(
                json!({"ports": [merged(json!({"port": 8080, "protocol": "TCP"}), port.clone())]})
            )),
            "{port}"
        );
    }
    assert!(writes(changed(of_pod(json!({"nodeName": "other"})))));
    assert!(writes(changed(of_pod(json!({"nodeName": null})))), "absent is not equal to a name");
    assert!(writes(changed(of_pod(json!({"hostname": "one"})))));
    assert!(writes(changed(of_pod(json!({"targetRef": {"uid": "other"}})))));
    assert!(writes(changed(of_pod(json!({"targetRef": {"apiVersion": "v1"}})))));
    assert!(!writes(changed(of_pod(json!({"targetRef": {"resourceVersion": "9"}})))));
    assert!(
        !writes(changed(of_pod(json!({"hostname": "", "targetRef": {"fieldPath": ""}})))),
        "empty is absent"
    );
}

/// Golden cases have a cluster IP, `None` or families.
#[test]
fn without_families_and_cluster_ip_the_first_address_of_the_pod_counts() {
    let service = service("web", json!({"spec": {"ipFamilies": [], "clusterIP": ""}}));
    let subsets = desired(&service, &[pod("web-1", &["fd00::1", "10.0.0.1"], true)], false);
    assert_eq!(subsets[0].addresses.as_ref().unwrap()[0].ip, "fd00::1");
}

/// The API server writes both fields.
#[test]
fn a_pod_without_podips_is_left_out() {
    let without = merged(pod("web-1", &[], true), json!({"status": {"podIP": "10.0.0.1"}}));
    let subsets = desired(&web(), &[without], false);
    assert!(
        subsets.iter().all(|it| it.addresses.is_none() && it.not_ready_addresses.is_none()),
        "{subsets:?}"
    );
}

#[test]
fn the_old_annotation_counts_only_with_its_feature_gate() {
    let annotated = |value: &str, published: bool| {
        let annotations = json!({"service.alpha.kubernetes.io/tolerate-unready-endpoints": value});
        let changes = json!({"metadata": {"annotations": annotations},
            "spec": {"publishNotReadyAddresses": published}});
        service("web", changes)
    };
    let unready = [pod("web-1", &["10.0.0.1"], false)];
    for (value, published, switched_on, ready) in [
        ("true", false, false, false),
        ("true", false, true, true),
        ("false", true, true, false),
        ("false", true, false, true),
        ("maybe", true, true, true),
    ] {
        let subsets = desired(&annotated(value, published), &unready, switched_on);
        let listed = subsets[0].addresses.is_some();
        assert_eq!(listed, ready, "{value} {published} {switched_on}");
    }
}
