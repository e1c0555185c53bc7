use std::sync::Arc;

use serde_json::{Value, json};

use crate::environment::SystemEnvironment;
use crate::kinds::strategy::Strategy;
use crate::kinds::{Allocators, Cluster, KINDS, Kind, Ranges, Scope, before_create};

use super::*;

/// A cluster with one node.
struct OneNode;

impl Cluster for OneNode {
    fn node_labels(&self, name: &str) -> Option<Value> {
        (name == "n1").then(|| json!({ "topology.kubernetes.io/zone": "z1", "other": "x" }))
    }
}

fn in_scope<T>(run: impl FnOnce(&Scope<'_>) -> T) -> T {
    let kind: &Kind = KINDS.iter().find(|kind| kind.plural == "pods").unwrap();
    let allocators = Arc::new(Allocators::new(Ranges::default()));
    run(&Scope {
        kind,
        namespace: "default",
        subresource: "",
        dry_run: false,
        environment: &SystemEnvironment::seeded(1),
        allocators: &allocators,
        cluster: &OneNode,
    })
}

fn created(spec: &Value) -> Value {
    let mut pod = json!({ "metadata": { "name": "a" }, "spec": spec, "status": {} });
    Pod.default(&mut pod);
    in_scope(|scope| before_create(scope, &mut pod).unwrap().commit());
    pod
}

fn containers() -> Value {
    json!([{ "name": "c", "image": "i" }])
}

#[test]
fn pods_take_the_topology_of_their_node() {
    let pod = created(&json!({ "containers": containers(), "nodeName": "n1" }));
    assert_eq!(pod["metadata"]["labels"], json!({ "topology.kubernetes.io/zone": "z1" }));
    let pod = created(&json!({ "containers": containers(), "nodeName": "n2" }));
    assert_eq!(pod["metadata"].get("labels"), None);
}

#[test]
fn an_update_copies_no_topology() {
    let pod = created(&json!({ "containers": containers(), "nodeName": "n1" }));
    for labels in [json!({}), json!({ "topology.kubernetes.io/zone": "z2" })] {
        let mut changed = pod.clone();
        changed["metadata"]["labels"] = labels.clone();
        in_scope(|scope| Pod.admit(scope, &mut changed, Some(&pod)));
        assert_eq!(changed["metadata"]["labels"], labels);
    }
}

#[test]
fn a_binding_assigns_the_node_once() {
    let mut pod = created(&json!({ "containers": containers() }));
    let binding = |kind| json!({ "metadata": { "name": "a", "labels": { "x": "y" } }, "target": { "kind": kind, "name": "n1" } });
    in_scope(|scope| bind(scope, &mut pod, &binding("Node"))).unwrap();
    assert_eq!(pod["spec"]["nodeName"], "n1");
    assert_eq!(pod["metadata"]["generation"], 1);
    assert_eq!(pod["metadata"]["labels"], json!({ "x": "y", "topology.kubernetes.io/zone": "z1" }));
    assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
    assert_eq!(pod["status"]["conditions"][0]["status"], "True");
    let again = in_scope(|scope| bind(scope, &mut pod, &binding("Node"))).unwrap_err();
    assert_eq!(
        again.message,
        "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node \"n1\""
    );

    // The recorded answer of kube-apiserver to this.
    let mut pod = created(&json!({ "containers": containers() }));
    let bad = json!({ "metadata": { "name": "a" }, "target": { "kind": "X" } });
    let refused = in_scope(|scope| bind(scope, &mut pod, &bad)).unwrap_err();
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.message,
        "[target.kind: Unsupported value: \"X\": supported values: \"Node\", \"<empty>\", target.name: Required value]"
    );
    // Without kind, upstream's plugin does not look at the node.
    in_scope(|scope| bind(scope, &mut pod, &binding(""))).unwrap();
    assert_eq!(pod["metadata"]["labels"], json!({ "x": "y" }));
}

#[test]
fn only_scheduled_pods_get_time_to_end() {
    let pod = |node: &str, phase: &str| json!({ "spec": { "nodeName": node, "terminationGracePeriodSeconds": 30 }, "status": { "phase": phase } });
    for (node, phase, requested, granted) in [
        ("", "Pending", None, 0),
        ("", "Pending", Some(5), 0),
        ("n", "Running", None, 30),
        ("n", "Running", Some(5), 5),
        ("n", "Running", Some(0), 0),
        ("n", "Running", Some(-1), 1),
        ("n", "Succeeded", None, 0),
        ("n", "Failed", Some(5), 0),
    ] {
        assert_eq!(
            Pod.grace_period(&pod(node, phase), requested),
            Some(granted),
            "{node} {phase} {requested:?}"
        );
    }
}
