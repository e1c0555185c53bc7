//! Differences from upstream: duplicate endpoints and slices, recycled slices, and metadata of many.

use serde_json::json;

use crate::cluster::Cluster;

/// Two addresses, in the slice `test-ep-100`.
fn settled() -> Cluster {
    let ports = json!([{"name": "http", "port": 80, "protocol": "TCP"}]);
    let mut cluster =
        Cluster::new(json!([{"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": ports}]));
    assert_eq!(cluster.sync(), [1, 0, 0]);
    cluster
}

/// Upstream counts the duplicate as another desired endpoint, and overlooks the missing one.
#[test]
fn a_duplicate_endpoint_does_not_hide_a_missing_one() {
    let mut cluster = settled();
    let endpoints = cluster.slices[0].endpoints.as_mut().unwrap();
    endpoints[1] = endpoints[0].clone();
    assert_eq!(cluster.sync(), [0, 1, 0]);
    let mut addresses: Vec<_> =
        cluster.slices[0].endpoints.iter().flatten().map(|endpoint| endpoint.addresses.concat()).collect();
    addresses.sort();
    assert_eq!(addresses, ["10.0.0.1", "10.0.0.2"]);
}

/// The duplicate is deleted; the slice that stays has its endpoints.
#[test]
fn duplicate_slices_for_one_set_of_ports_are_deleted() {
    let mut cluster = settled();
    let mut another = cluster.slices[0].clone();
    another.metadata.name = Some("test-ep-999".into());
    cluster.slices.insert(0, another);
    assert_eq!(cluster.sync(), [0, 0, 1]);
    assert_eq!(cluster.slices[0].metadata.name.as_deref(), Some("test-ep-100"), "the first by name");
}

/// Upstream sends their `generateName` again.
#[test]
fn slices_with_obsolete_ports_are_recycled() {
    let mut cluster = settled();
    cluster.endpoints["subsets"][0]["ports"][0]["port"] = json!(8080);
    let plan = cluster.mirror().plan;
    let mut updates = plan.types.iter().flat_map(|plan| &plan.update);
    assert!(updates.all(|slice| slice.metadata.generate_name.is_none()));
    assert_eq!(cluster.sync(), [0, 1, 0]);
}

/// Upstream's copies share their memory.
#[test]
fn labels_and_annotations_are_left_out_of_too_many_slices() {
    let ip = |port: usize| format!("10.0.{}.{}", port / 250, port % 250);
    let subset = |port: usize| json!({"addresses": [{"ip": ip(port)}], "ports": [{"port": port}]});
    let mut cluster = Cluster::new(json!([subset(1)]));
    cluster.endpoints["metadata"]["annotations"] = json!({"note": "x".repeat(200_000)});
    assert_eq!(cluster.sync(), [1, 0, 0]);
    assert!(cluster.slices[0].metadata.annotations.is_some());
    cluster.endpoints["subsets"] = (1..=400).map(subset).collect();
    assert_eq!(cluster.sync(), [399, 1, 0]);
    assert!(cluster.slices.iter().all(|slice| slice.metadata.annotations.is_none()));
}
