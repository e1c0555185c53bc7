use std::sync::Arc;

use cli_runtime::differences::{Action, Change};
use controller_kit::key::ObjectKey;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::snapshot::Object;
use crate::{Verdict, explain_with_differences};

fn snapshot(slices: &[Value]) -> Snapshot {
    let mut snapshot = Snapshot::new("2026-01-01T01:00:00Z".parse::<Timestamp>().unwrap(), []);
    let spec = json!({
        "selector": {"app": "web"}, "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"],
        "ports": [{"name": "http", "port": 80, "targetPort": 8080}], "trafficDistribution": "PreferSameZone",
    });
    let metadata =
        json!({"namespace": "shop", "name": "web", "uid": "s", "creationTimestamp": "2026-01-01T00:00:00Z"});
    let service = json!({"metadata": metadata, "spec": spec});
    snapshot.upsert(Object::Service(Arc::new(serde_json::from_value(service).unwrap())));
    for (name, ready) in [("web-0", "True"), ("web-1", "False")] {
        let status = json!({"podIPs": [{"ip": format!("10.0.0.{}", &name[4..])}], "conditions": [{"type": "Ready", "status": ready}]});
        let pod = json!({
            "metadata": {"namespace": "shop", "name": name, "uid": name, "labels": {"app": "web"}},
            "spec": {"nodeName": "node-1", "containers": []}, "status": status,
        });
        snapshot.upsert(Object::Pod(Arc::new(serde_json::from_value(pod).unwrap())));
    }
    let node = json!({"metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "a"}}});
    snapshot.upsert(Object::Node(Arc::new(serde_json::from_value(node).unwrap())));
    for slice in slices {
        snapshot.upsert(Object::EndpointSlice(Arc::new(serde_json::from_value(slice.clone()).unwrap())));
    }
    snapshot
}

fn endpoint(pod: &str, ready: bool) -> Value {
    json!({
        "addresses": [format!("10.0.0.{}", &pod[4..])], "nodeName": "node-1", "zone": "a",
        "conditions": {"ready": ready, "serving": ready, "terminating": false},
        "targetRef": {"kind": "Pod", "namespace": "shop", "name": pod, "uid": pod},
        "hints": {"forZones": [{"name": "a"}]},
    })
}

fn slice(name: &str, endpoints: &[Value]) -> Value {
    let managers = json!([
        {"manager": "kube-controller-manager", "time": "2026-01-01T00:00:09Z"},
        {"manager": "kubectl-edit", "time": "2026-01-01T00:00:02Z"},
    ]);
    let labels = json!({
        "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    });
    let owner = json!({
        "apiVersion": "v1", "kind": "Service", "name": "web", "uid": "s", "controller": true, "blockOwnerDeletion": true,
    });
    json!({
        "metadata": {
            "namespace": "shop", "name": name, "labels": labels, "managedFields": managers, "ownerReferences": [owner],
        },
        "addressType": "IPv4", "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}], "endpoints": endpoints,
    })
}

#[test]
fn a_picture_has_what_decides_about_clients() {
    let snapshot = snapshot(&[slice("web-x", &[endpoint("web-0", true), endpoint("web-1", false)])]);
    let picture = Picture::of(&snapshot, "shop", "web").unwrap();
    assert_eq!((picture.service.kind.as_str(), picture.capacity), ("ClusterIP", 100));
    assert_eq!(picture.service.ports, ["http:80/TCP to 8080"]);
    assert_eq!(picture.service.traffic_distribution.as_deref(), Some("PreferSameZone"));
    let [slice] = picture.slices.as_slice() else { panic!("not one slice") };
    assert_eq!(slice.writer.as_deref(), Some("kube-controller-manager"), "the newest");
    let endpoint = &slice.endpoints[0];
    assert_eq!((endpoint.zone.as_deref(), endpoint.pod.as_deref()), (Some("a"), Some("web-0")));
    assert_eq!((endpoint.state, endpoint.for_zones.as_slice()), (Presence::Ready, &["a".to_owned()][..]));
    assert!(Picture::of(&snapshot, "shop", "db").is_none());
}

#[test]
fn an_endpoint_in_two_slices_counts_once() {
    let both = [endpoint("web-0", true), endpoint("web-1", false)];
    let traffic =
        EndpointCounts::of(&snapshot(&[slice("web-x", &both), slice("web-y", &both)]), "shop", "web")
            .unwrap();
    assert_eq!((traffic.ready, traffic.serving, traffic.not_ready), (1, 0, 1));
    assert_eq!((traffic.slices, traffic.entries, traffic.capacity), (2, 4, 200));
    assert_eq!(traffic.zones, [ZoneCounts { zone: "a".to_owned(), ready: 1, total: 2 }]);
    assert_eq!(traffic.writers, ["kube-controller-manager"]);
}

/// Authors of custom slices choose zones and field managers.
#[test]
fn zones_and_writers_are_bounded() {
    let zoned = |number: usize| {
        let mut endpoint = endpoint(&format!("web-{number}"), true);
        // Two in the last zone.
        endpoint["zone"] = json!(format!("z{:02}", number.min(29)));
        endpoint
    };
    let slices: Vec<Value> = (0..31)
        .map(|number| {
            let mut slice = slice(&format!("web-{number:02}"), &[zoned(number)]);
            slice["metadata"]["managedFields"][0]["manager"] = json!(format!("writer-{number:02}"));
            slice
        })
        .collect();
    let traffic = EndpointCounts::of(&snapshot(&slices), "shop", "web").unwrap();
    let [first, .., last, others] = traffic.zones.as_slice() else { panic!("{:?}", traffic.zones) };
    assert_eq!((traffic.zones.len(), traffic.writers.len()), (21, 8));
    assert_eq!((first.zone.as_str(), last.zone.as_str(), last.total), ("z00", "z29", 2));
    assert_eq!((others.zone.as_str(), others.ready, others.total), ("(others)", 10, 10));
}

fn differences(slices: &[Value]) -> (Verdict, Vec<Change>) {
    let found = explain_with_differences(&snapshot(slices), &ObjectKey::new("shop", "web")).unwrap();
    let slices = found.1.into_iter().filter(|change| change.kind == "EndpointSlice");
    (found.0.verdict, slices.collect())
}

#[test]
fn differences_name_fields_and_endpoints() {
    let (verdict, found) = differences(&[slice("web-x", &[endpoint("web-0", false)])]);
    assert_eq!(verdict, Verdict::Wrong);
    let [change] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((change.name.as_str(), change.action), ("web-x", Action::Update));
    let field = |path: &str| change.fields.iter().find(|field| field.path == path).unwrap();
    let ready = field("endpoints[10.0.0.0].conditions.ready");
    assert_eq!((&ready.before, &ready.after), (&Some(json!(false)), &Some(json!(true))));
    let new = field("endpoints[10.0.0.1]");
    assert_eq!((&new.before, &new.after.as_ref().unwrap()["targetRef"]["name"]), (&None, &json!("web-1")));
}

#[test]
fn a_missing_slice_is_one_to_create() {
    let (_, found) = differences(&[]);
    assert_eq!(found.iter().map(|it| it.action).collect::<Vec<_>>(), [Action::Create]);
}
