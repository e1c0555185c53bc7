//! Nodes and topology-aware hints.

use std::time::Duration;

use controller_harness::merged;
use endpointslice::Node;
use endpointslice::well_known::{TOPOLOGY_MODE, TOPOLOGY_ZONE};
use serde_json::{Value, json};

use crate::harness::{Harness, pod, service};

/// A ready node.
fn node(name: &str, zone: &str, cpu: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {TOPOLOGY_ZONE: zone}},
        "status": {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A Service that wants topology hints, with a pod on each of two nodes.
fn start(zones: [&str; 2]) -> Harness {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.service(service("web", json!({"metadata": {"annotations": {TOPOLOGY_MODE: "Auto"}}})));
    });
    for (number, zone) in zones.into_iter().enumerate() {
        let (name, pod_name) = (format!("node-{number}"), format!("web-{number}"));
        harness.api.upsert::<Node>(node(&name, zone, "0"));
        let pod = pod(&pod_name, &format!("10.0.0.{number}"), true);
        harness.api.pod(merged(pod, json!({"spec": {"nodeName": name}})));
    }
    harness
}

fn hints(harness: &Harness) -> Vec<Option<String>> {
    let endpoints = harness.api.endpoints("web").into_iter();
    endpoints.map(|endpoint| Some(endpoint.hints?.for_zones?.first()?.name.clone())).collect()
}

fn zones() -> Vec<Option<String>> {
    ["zone-a", "zone-b"].map(|zone| Some(zone.to_owned())).into()
}

/// Upstream syncs the Service again only when something else changes, and ignores changes of CPU.
#[tokio::test(start_paused = true)]
async fn hints_appear_when_all_nodes_report_cpu() {
    let harness = start(["", ""]);
    harness.api.settle().await;
    harness.api.upsert::<Node>(node("node-0", "zone-a", "0"));
    harness.api.upsert::<Node>(node("node-1", "zone-b", "0"));
    harness.api.settle().await;
    assert_eq!(
        (harness.zones("web"), hints(&harness)),
        (zones(), vec![None, None]),
        "without CPU there are no hints"
    );
    harness.api.forget_requests();
    harness.api.upsert::<Node>(node("node-0", "zone-a", "4"));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new(), "one node still reports no CPU");
    harness.api.upsert::<Node>(node("node-1", "zone-b", "4"));
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), hints(&harness)), (vec!["PUT web-1".to_owned()], zones()));
    assert_eq!(harness.api.events().last().unwrap().0, "TopologyAwareHintsEnabled");
    let down = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    harness.api.upsert::<Node>(merged(node("node-1", "zone-b", "4"), down));
    harness.api.settle().await;
    assert_eq!(hints(&harness), [None, None], "only one zone is left");
}

/// The nodes are loaded before the first sync. Upstream may remove the hints at every restart.
#[tokio::test(start_paused = true)]
async fn hints_survive_a_restart() {
    let harness = start(["zone-a", "zone-b"]);
    for (name, zone) in [("node-0", "zone-a"), ("node-1", "zone-b")] {
        harness.api.upsert::<Node>(node(name, zone, "4"));
    }
    harness.api.settle().await;
    assert_eq!(hints(&harness), zones());
    let harness = harness.restart().await;
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), hints(&harness)), (vec![], zones()));
}

#[tokio::test(start_paused = true)]
async fn a_zone_change_of_a_node_updates_the_slices_of_its_pods() {
    let harness = Harness::with_web(1).await;
    assert_eq!(harness.zones("web"), [Some("zone-a".to_owned())]);
    harness.api.node("node-1", "zone-b");
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(harness.zones("web"), [Some("zone-b".to_owned())]);
}
