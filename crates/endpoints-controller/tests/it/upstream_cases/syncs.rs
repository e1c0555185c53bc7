//! The write of one sync.

use controller_harness::{NAMESPACE, merged};
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

#[test]
fn a_service_without_pods_gets_an_object() {
    let expected = json!({"apiVersion": "v1", "kind": "Endpoints",
        "metadata": {"name": "web", "labels": {MANAGED_BY: "endpoint-controller"}}});
    assert_eq!(sync(&web(), &[], None, None), Some(expected));
}

#[test]
fn the_resource_version_of_a_pod_causes_no_write() {
    let mut subsets = one_subset();
    subsets[0]["addresses"][0]["targetRef"]["resourceVersion"] = json!("7");
    assert_eq!(sync(&web(), &one_pod(), Some(&stored("web", subsets, json!({}))), None), None);
}

#[test]
fn the_protocol_is_that_of_the_port() {
    for protocol in ["TCP", "UDP", "SCTP"] {
        let ports = json!([{"port": 80, "protocol": protocol, "targetPort": 8080}]);
        let service = service("web", json!({"spec": {"ports": ports, "clusterIP": ""}}));
        let before =
            stored("web", json!([{"addresses": [{"ip": "6.7.8.9"}], "ports": [{"port": 1000}]}]), json!({}));
        let pods = [one_pod()[0].clone(), pod("web-2", &["10.0.0.2"], false)];
        let written = sync(&service, &pods, Some(&before), None).unwrap();
        let expected = json!([{"addresses": [address("web-1", "10.0.0.1")],
            "notReadyAddresses": [address("web-2", "10.0.0.2")],
            "ports": [{"port": 8080, "protocol": protocol}]}]);
        assert_eq!(written["subsets"], expected);
        assert_eq!(written["metadata"]["labels"], json!({HEADLESS: "", MANAGED_BY: "endpoint-controller"}));
        assert_eq!(written["metadata"]["resourceVersion"], "50", "with the version that was read");
    }
}

#[test]
fn ports_are_ordered_by_hash() {
    let ports = json!([{"name": "", "port": 80, "protocol": "TCP", "targetPort": 8080},
        {"name": "", "port": 80, "protocol": "UDP", "targetPort": 8080}]);
    let written = sync(&service("web", json!({"spec": {"ports": ports}})), &one_pod(), None, None).unwrap();
    let expected = json!([{"port": 8080, "protocol": "UDP"}, {"port": 8080, "protocol": "TCP"}]);
    assert_eq!(written["subsets"][0]["ports"], expected);
}

#[test]
fn the_headless_label_alone_causes_no_write() {
    let with_label = stored("web", one_subset(), json!({"metadata": {"labels": {HEADLESS: ""}}}));
    assert_eq!(sync(&web(), &one_pod(), Some(&with_label), None), None);
    let headless = service("web", json!({"spec": {"clusterIP": "None"}}));
    let without = stored("web", one_subset(), json!({}));
    assert_eq!(sync(&headless, &one_pod(), Some(&without), None), None);
    let written = sync(&headless, &[], Some(&without), None).unwrap();
    assert_eq!(written["metadata"]["labels"][HEADLESS], "", "another write corrects it");
    let written = sync(&web(), &[], Some(&with_label), None).unwrap();
    assert_eq!(written["metadata"]["labels"], json!({MANAGED_BY: "endpoint-controller"}));
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
fn all_selected_pods_are_listed() {
    let pods = |ready: [bool; 3]| -> Vec<Value> {
        let number = |(number, ready): (usize, bool)| {
            pod(&format!("web-{number}"), &[&format!("10.0.0.{number}")], ready)
        };
        ready.into_iter().enumerate().map(number).collect()
    };
    for (ready, counts) in [([true; 3], (3, 0)), ([false; 3], (0, 3)), ([true, false, true], (2, 1))] {
        let subsets = desired(&web(), &pods(ready), false);
        let [subset] = &subsets[..] else { panic!("{subsets:?}") };
        let len = |list: &Option<Vec<_>>| list.as_ref().map_or(0, Vec::len);
        assert_eq!((len(&subset.addresses), len(&subset.not_ready_addresses)), counts);
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
fn labels_are_those_of_the_service() {
    let labelled = service("web", json!({"metadata": {"labels": {"a": "1"}}}));
    let write = |labels: Value| {
        let stored = stored("web", one_subset(), json!({"metadata": {"labels": labels}}));
        sync(&labelled, &one_pod(), Some(&stored), None)
    };
    assert_eq!(write(json!({"a": "1"})), None);
    for labels in
        [json!({}), json!({"a": "2"}), json!({"a": "1", "b": ""}), json!({"a": "1", MANAGED_BY: "x"})]
    {
        let written = write(labels.clone()).unwrap_or_else(|| panic!("{labels}"));
        assert_eq!(written["metadata"]["labels"], json!({"a": "1", MANAGED_BY: "endpoint-controller"}));
    }
}

#[test]
fn a_headless_service_may_have_no_ports() {
    let headless = |cluster_ip: &str| {
        service(
            "web",
            json!({"metadata": {"labels": {"a": "1"}}, "spec": {"clusterIP": cluster_ip, "ports": []}}),
        )
    };
    let written = sync(&headless("None"), &one_pod(), None, None).unwrap();
    assert_eq!(written["subsets"], json!([{"addresses": [address("web-1", "10.0.0.1")]}]));
    let labels = json!({"a": "1", HEADLESS: "", MANAGED_BY: "endpoint-controller"});
    assert_eq!(written["metadata"]["labels"], labels);
    for cluster_ip in ["10.96.0.1", ""] {
        assert_eq!(sync(&headless(cluster_ip), &one_pod(), None, None).unwrap()["subsets"], json!(null));
    }
}

#[test]
fn the_time_of_the_last_change_is_written_or_removed() {
    const KEY: &str = "endpoints.kubernetes.io/last-change-trigger-time";
    let before =
        |annotations: Value| stored("web", json!([]), json!({"metadata": {"annotations": annotations}}));
    let write = |annotations: Value, time: Option<&str>| {
        sync(&web(), &one_pod(), Some(&before(annotations)), time).unwrap()["metadata"]["annotations"].clone()
    };
    let time = "2026-01-01T00:00:00Z";
    assert_eq!(write(json!({}), Some(time)), json!({KEY: time}));
    assert_eq!(
        write(json!({KEY: "2025-01-01T00:00:00Z", "note": "keep"}), Some(time)),
        json!({KEY: time, "note": "keep"})
    );
    assert_eq!(write(json!({KEY: time, "note": "keep"}), None), json!({"note": "keep"}));
    assert_eq!(write(json!({KEY: time}), None), json!(null));
    let steady =
        stored("web", one_subset(), json!({"metadata": {"annotations": {KEY: "old", "note": "keep"}}}));
    assert_eq!(sync(&web(), &one_pod(), Some(&steady), Some(time)), None, "alone causes no write");
}

#[test]
fn the_application_protocol_is_copied() {
    for protocol in [json!(null), json!("kubernetes.io/h2c"), json!("")] {
        let ports = json!([{"name": "p", "port": 80, "protocol": "TCP", "targetPort": 8080, "appProtocol": protocol}]);
        let service = service("web", json!({"spec": {"ports": ports}}));
        let written = sync(&service, &one_pod(), None, None).unwrap();
        assert_eq!(
            written["subsets"][0]["ports"][0].get("appProtocol").cloned().unwrap_or_default(),
            protocol
        );
        let other = json!([{"addresses": [address("web-1", "10.0.0.1")],
            "ports": [{"name": "p", "port": 8080, "protocol": "TCP", "appProtocol": "other"}]}]);
        assert!(sync(&service, &one_pod(), Some(&stored("web", other, json!({}))), None).is_some());
    }
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
    assert!(writes(changed(json!({"ports": [{"port": 8081, "protocol": "TCP"}]}))));
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

#[test]
fn ports_are_added_and_removed() {
    let named = |names: &[&str]| -> Value {
        let port = |name: &&str| json!({"name": name, "port": 80, "protocol": "TCP", "targetPort": name});
        service("web", json!({"spec": {"ports": names.iter().map(port).collect::<Vec<_>>()}}))
    };
    let with_port = |pod: Value, name: &str, number: u16| {
        let ports = json!([{"name": name, "containerPort": number, "protocol": "TCP"}]);
        merged(pod, json!({"spec": {"containers": [{"name": "c", "ports": ports}]}}))
    };
    let pods = [
        with_port(pod("web-1", &["10.0.0.1"], true), "a", 100),
        with_port(pod("web-2", &["10.0.0.2"], true), "b", 101),
    ];
    let subset = |pod: &str, ip: &str, name: &str, number: u16| json!({"addresses": [address(pod, ip)], "ports": [{"name": name, "port": number, "protocol": "TCP"}]});
    let (a, b) = (subset("web-1", "10.0.0.1", "a", 100), subset("web-2", "10.0.0.2", "b", 101));
    let first = sync(&named(&["a"]), &pods, None, None).unwrap();
    assert_eq!(first["subsets"], json!([a]), "a pod without the port does not appear");
    let before = merged(stored("web", json!([]), json!({})), first);
    let both = sync(&named(&["a", "b"]), &pods, Some(&before), None).unwrap();
    let mut subsets = both["subsets"].as_array().unwrap().clone();
    subsets.sort_by_key(|subset| subset["ports"][0]["name"].to_string());
    assert_eq!(subsets, [a, b.clone()]);
    let only_b = sync(&named(&["b"]), &pods, Some(&merged(before, both)), None).unwrap();
    assert_eq!(only_b["subsets"], json!([b]));
}

#[test]
fn foreign_metadata_is_kept() {
    let metadata = json!({"finalizers": ["example.com/keep"], "ownerReferences": [{"apiVersion": "v1",
        "kind": "Node", "name": "n", "uid": "u"}], "creationTimestamp": "2026-01-01T00:00:00Z"});
    let before = stored("web", json!([]), json!({"metadata": metadata}));
    let written = sync(&web(), &one_pod(), Some(&before), None).unwrap();
    for field in ["finalizers", "ownerReferences", "creationTimestamp", "uid", "resourceVersion"] {
        assert_eq!(written["metadata"][field], before["metadata"][field], "{field}");
    }
    assert_eq!(written["metadata"]["namespace"], NAMESPACE);
    assert_eq!(written["metadata"].get("managedFields"), None);
}
