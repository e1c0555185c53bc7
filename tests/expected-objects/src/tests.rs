//! The oracle accepts what is right, and names what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::{Value, json};

use crate::{CONTROLLERS, Named, Objects};

const MAX: usize = 2;

fn named(objects: impl IntoIterator<Item = (&'static str, Value)>) -> Named {
    objects.into_iter().map(|(name, object)| (name.to_owned(), Arc::new(object))).collect()
}

fn pod(ready: &str) -> Value {
    json!({
        "metadata": {"name": "web-0", "uid": "p", "labels": {"app": "web"}},
        "spec": {"nodeName": "a", "containers": [{"name": "main"}]},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.1.0.1"}],
            "conditions": [{"type": "Ready", "status": ready}]},
    })
}

fn slice() -> Value {
    json!({
        "metadata": {"labels": {SERVICE_NAME: "web", MANAGED_BY: CONTROLLERS[0]}, "ownerReferences": [{"uid": "s"}]},
        "addressType": "IPv4",
        "ports": [{"name": "", "protocol": "TCP", "port": 80}],
        "endpoints": [{"addresses": ["10.1.0.1"], "nodeName": "a", "zone": "z",
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "targetRef": {"name": "web-0", "uid": "p"}}],
    })
}

/// A Service with one ready pod, and the objects that it should have.
fn right() -> Objects {
    let service = json!({
        "metadata": {"name": "web", "uid": "s", "labels": {}},
        "spec": {"selector": {"app": "web"}, "ipFamilies": ["IPv4"], "ports": [{"port": 80, "protocol": "TCP"}]},
    });
    let endpoints = json!({
        "metadata": {"name": "web", "uid": "e", "labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"},
            "annotations": {}, "managedFields": [{"manager": "endpoint-controller-manager"}]},
        "subsets": [{"ports": [{"port": 80, "protocol": "TCP"}],
            "addresses": [{"ip": "10.1.0.1", "nodeName": "a", "targetRef": {"name": "web-0"}}]}],
    });
    Objects {
        services: named([("web", service)]),
        pods: named([("web-0", pod("True"))]),
        nodes: named([("a", json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "z"}}}))]),
        endpoints: named([("web", endpoints)]),
        slices: named([("web-x", slice())]),
        ..Objects::default()
    }
}

fn names(objects: &Objects) -> Vec<String> {
    objects.wrong_objects().into_keys().collect()
}

#[test]
fn right_objects_have_no_differences() {
    assert_eq!(right().wrong_objects(), BTreeMap::new());
    assert_eq!(right().broken_rules(MAX, &BTreeSet::new()), [""; 0]);
}

#[test]
fn wrong_objects_are_named() {
    let mut objects = right();
    objects.pods = named([("web-0", pod("False"))]);
    assert_eq!(names(&objects), ["Endpoints web", "slices of web"]);
    let mut objects = right();
    objects.slices.clear();
    assert_eq!(names(&objects), ["slices of web"]);
    let mut objects = right();
    objects.endpoints.clear();
    assert_eq!(names(&objects), ["Endpoints web"]);
    let mut objects = right();
    objects.services.clear();
    assert_eq!(names(&objects), ["Endpoints web without a Service"]);
}

#[test]
fn foreign_objects_that_are_gone_are_named() {
    let mut objects = right();
    assert_eq!(objects.evicted(), ["foreign-slice is gone", "foreign-endpoints is gone"]);
    objects.slices.insert("foreign-slice".to_owned(), Arc::default());
    objects.endpoints.insert("foreign-endpoints".to_owned(), Arc::default());
    assert_eq!(objects.evicted(), [""; 0]);
}

#[test]
fn endpoints_without_a_service_may_be_copies_or_locks() {
    let kept = |change: fn(&mut Value)| {
        let mut objects = right();
        objects.services.clear();
        change(&mut Arc::make_mut(objects.endpoints.get_mut("web").expect("Endpoints"))["metadata"]);
        names(&objects).is_empty()
    };
    assert!(!kept(|metadata| metadata["managedFields"] = json!([{"manager": "kube-controller-manager"}])));
    assert!(kept(|metadata| metadata["managedFields"] = json!([{"manager": "kubectl-create"}])));
    assert!(kept(
        |metadata| metadata["annotations"] = json!({"control-plane.alpha.kubernetes.io/leader": "{}"})
    ));
}

#[test]
fn slices_have_an_owner_and_each_endpoint_once_and_not_too_many() {
    let broken = |change: fn(&mut Objects)| {
        let mut objects = right();
        change(&mut objects);
        objects.broken_rules(MAX, &BTreeSet::from(["other".to_owned()])).len()
    };
    assert_eq!(broken(|it| drop(it.slices.insert("web-y".to_owned(), slice().into()))), 1);
    assert_eq!(broken(|it| it.services.clear()), 1);
    let tampered = |endpoints: fn(&mut Value)| {
        let mut objects = right();
        let mut slice = slice();
        slice["metadata"]["ownerReferences"] = Value::Null;
        endpoints(&mut slice);
        objects.slices = named([("other", slice)]);
        objects.broken_rules(MAX, &BTreeSet::from(["other".to_owned()])).len()
    };
    assert_eq!(tampered(|_| ()), 1, "a sync of a Service with endpoints looks at owners");
    assert_eq!(
        tampered(|slice| slice["endpoints"] = Value::Null),
        0,
        "a lone slice without endpoints is kept"
    );
    assert_eq!(
        broken(|it| {
            let mut slice = slice();
            let of = |number: usize| json!({"addresses": [format!("10.1.0.{number}")]});
            slice["endpoints"] = (0..=MAX).map(of).collect();
            it.slices = named([("web-x", slice)]);
        }),
        1
    );
}

#[test]
fn a_ready_endpoint_is_missing_unless_some_slice_has_it() {
    let missing = |change: fn(&mut Objects)| {
        let mut objects = right();
        change(&mut objects);
        objects.missing_endpoints().into_iter().collect::<Vec<_>>()
    };
    let web = r#"web ["10.1.0.1"] web-0"#;
    assert_eq!(missing(|_| ()), [""; 0]);
    assert_eq!(missing(|it| it.slices.clear()), [web]);
    assert_eq!(missing(|it| it.pods = named([("web-0", pod("False"))])), [""; 0], "it is not ready");
    let relabelled = |label: &'static str| {
        move |it: &mut Objects| {
            let slice = Arc::make_mut(it.slices.get_mut("web-x").expect("a slice"));
            slice["metadata"]["labels"][label] = "other".into();
        }
    };
    let mut objects = right();
    relabelled(MANAGED_BY)(&mut objects);
    assert_eq!(objects.missing_endpoints().len(), 0, "kube-proxy reads slices of every manager");
    relabelled(SERVICE_NAME)(&mut objects);
    assert_eq!(objects.missing_endpoints().len(), 1);
}

#[test]
fn slices_are_counted_by_family_and_ports() {
    let mut objects = right();
    assert_eq!(objects.needed_slices("s", MAX), 1);
    for number in 1..4 {
        let mut pod = pod("True");
        pod["status"]["podIPs"] = json!([{"ip": format!("10.1.0.{}", number + 1)}]);
        objects.pods.insert(format!("web-{number}"), pod.into());
    }
    assert_eq!(objects.needed_slices("s", MAX), 2);
    objects.pods.clear();
    assert_eq!(objects.needed_slices("s", MAX), 1, "a placeholder");
    assert_eq!(objects.needed_slices("e", MAX), 2);
    assert_eq!(objects.needed_slices("other", MAX), 0);
}
