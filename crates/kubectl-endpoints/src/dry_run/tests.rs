use endpoint_controller_manager::options;
use serde_json::json;

use super::*;

fn service(namespace: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace, "labels": labels},
        "spec": {"selector": {"app": "web"}, "ipFamilies": ["IPv4"], "ports": [{"port": 80, "protocol": "TCP"}]}})
}

fn pod(namespace: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": namespace, "labels": {"app": "web"}},
        "spec": {"nodeName": node, "containers": []},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}})
}

fn slice(namespace: &str) -> Value {
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [],
        "metadata": {"name": "web-x", "namespace": namespace, "labels": {"kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}}})
}

fn named(kind: &str, metadata: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": metadata})
}

/// The writes for these objects as `verb kind namespace/name`, and the lines about failing Services.
async fn planned(flags: &[&str], objects: &[Value]) -> (Vec<String>, Vec<String>) {
    let config = options::parse(flags).unwrap();
    let mut dry_run = DryRun::new(&config);
    for object in objects {
        // Those that cannot be read are known to exist all the same.
        let _ = dry_run.add(object);
    }
    let Planned { changes, failing } = dry_run.plan(&config).await.unwrap();
    let line = |Change { action, kind, namespace, name, .. }: &Change| {
        format!("{} {kind} {namespace}/{name}", action.verb())
    };
    (changes.iter().map(line).collect(), failing.into_iter().map(|(_, line)| line).collect())
}

#[tokio::test]
async fn new_objects_of_a_namespace_that_is_being_deleted_are_no_writes() {
    let objects = [service("shop", &json!({})), service("old", &json!({})), slice("old")];
    let (all, _) = planned(&[], &objects).await;
    let endpoints = ["create Endpoints old/web", "create Endpoints shop/web"];
    assert!(endpoints.iter().all(|write| all.iter().any(|found| found == write)), "{all:?}");
    let deleted = named("Namespace", &json!({"name": "old", "deletionTimestamp": "2026-01-01T00:00:00Z"}));
    let (writes, _) = planned(&[], &[&objects[..], &[deleted]].concat()).await;
    let is_left_out = |write: &&String| write.starts_with("create") && write.contains(" old/");
    assert_eq!(writes, all.iter().filter(|write| !is_left_out(write)).cloned().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_pod_on_a_missing_node_makes_its_service_fail() {
    let objects = [service("shop", &json!({})), pod("shop", "gone")];
    let (_, failing) = planned(&[], &objects).await;
    assert_eq!(
        failing,
        [
            "the endpointslice-controller keeps failing for Service shop/web: skipping Pod web-1: Node \"gone\" not found"
        ]
    );
    assert_eq!(planned(&["--controllers=endpoints-controller"], &objects).await.1, [""; 0]);
    let node = named("Node", &json!({"name": "gone"}));
    assert_eq!(planned(&[], &[&objects[..], &[node]].concat()).await.1, [""; 0]);
}

#[tokio::test]
async fn a_delegated_service_loses_our_slices_with_the_gate_alone() {
    let labelled = service("shop", &json!({ENDPOINT_CONTROLLER_NAME: "other"}));
    let gate = [
        "--feature-gates=EndpointControllerNameWellKnownLabel=true",
        "--controllers=endpointslice-controller",
    ];
    let objects = [labelled, slice("shop")];
    assert_eq!(planned(&gate, &objects).await.0, ["delete EndpointSlice shop/web-x"]);
    // Without the gate, the slice is one of an earlier Service of this name.
    let replaced = ["create EndpointSlice shop/web-", "delete EndpointSlice shop/web-x"];
    assert_eq!(planned(&gate[1..], &objects).await.0, replaced);
}

/// Its endpoint would be removed otherwise.
#[tokio::test]
async fn an_object_that_cannot_be_read_exists() {
    let mut broken = pod("shop", "a");
    broken["status"]["podIPs"] = json!(7);
    let mut stored = slice("shop");
    stored["endpoints"] = json!([{"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": "web-1"}}]);
    let objects = [service("shop", &json!({})), broken, stored];
    let (writes, _) = planned(&["--controllers=endpointslice-controller"], &objects).await;
    assert_eq!(writes, [""; 0]);
}

#[tokio::test]
async fn objects_of_a_kind_that_is_read_again_do_not_count() {
    let config = options::parse(["--controllers=endpointslice-controller"]).unwrap();
    let mut dry_run = DryRun::new(&config);
    for object in [service("shop", &json!({})), slice("shop")] {
        dry_run.add(&object).unwrap();
    }
    dry_run.forget(Kind::EndpointSlices);
    let [change] = &dry_run.plan(&config).await.unwrap().changes[..] else { panic!("several") };
    assert_eq!(change.action.verb(), "create");
}
