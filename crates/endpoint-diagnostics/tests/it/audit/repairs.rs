//! Repairs: only of objects of the controllers, in the version that was looked at.

use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::audit::{Action, Repair, is_found_in};
use endpoint_diagnostics::snapshot::Kind;
use serde_json::{Value, json};

use super::{add_slice, findings, healthy, lines, repairs};
use crate::cluster::Cluster;

#[test]
fn orphans_are_deleted_if_they_are_as_they_were_seen() {
    let mut cluster = healthy();
    cluster.change("services", "web", &Value::Null);
    let repairs: Vec<Repair> = findings(&cluster).into_iter().filter_map(|finding| finding.repair).collect();
    let [endpoints, slice] = repairs.as_slice() else { panic!("{repairs:?}") };
    assert_eq!(endpoints.to_string(), "delete Endpoints shop/web");
    assert_eq!((&slice.action, &*slice.uid, &*slice.resource_version), (&Action::Delete, "uid-web-a", "7"));
    for repair in [endpoints, slice] {
        assert_eq!(repair.unless_exists.as_ref().unwrap().to_string(), "Service shop/web");
    }
}

#[test]
fn a_duplicate_is_kept_if_it_is_more_ready_than_the_copy_in_another_slice() {
    let conditions = |ready: bool, serving: bool| json!({"ready": ready, "serving": serving});
    for (kept, other, is_deleted) in [
        (conditions(false, false), conditions(true, true), false),
        (conditions(false, false), conditions(false, true), false),
        (conditions(false, true), conditions(true, true), false),
        (conditions(true, true), json!({"ready": false, "serving": true, "terminating": true}), true),
        (conditions(false, false), conditions(false, false), true),
        // What is not said counts as ready.
        (conditions(false, false), json!({}), false),
        (json!({}), conditions(true, true), true),
    ] {
        let mut cluster = healthy();
        let mut copy = cluster.slices["web-a"]["endpoints"][0].clone();
        copy["conditions"] = other.clone();
        add_slice(&mut cluster, "web-b", &json!({"endpoints": [copy]}));
        cluster.slices.get_mut("web-a").unwrap()["endpoints"][0]["conditions"] = kept.clone();
        let found = findings(&cluster);
        let expected: &[&str] = if is_deleted { &["delete EndpointSlice shop/web-b"] } else { &[] };
        assert_eq!(repairs(&found), expected, "{kept} {other}");
        assert!(lines(&found).iter().any(|it| it.starts_with("duplicate-endpoint")), "{kept} {other}");
    }
}

/// The Service `web`, its Endpoints and its slices alone.
fn read_again(cluster: &Cluster) -> Snapshot {
    let unreadable = [Kind::Pods, Kind::Nodes, Kind::Namespaces];
    cluster.snapshot_without("2026-06-01T00:00:10Z".parse().unwrap(), &unreadable)
}

#[test]
fn a_finding_is_found_again_as_long_as_its_reason_is_there() {
    let mut cluster = healthy();
    let copies = cluster.slices["web-a"]["endpoints"].clone();
    add_slice(&mut cluster, "web-b", &json!({"endpoints": [copies[0]]}));
    let found = findings(&cluster);
    let [duplicate] = found.as_slice() else { panic!("{found:?}") };
    assert!(is_found_in(duplicate, &read_again(&cluster)));
    // Its controller has moved the endpoint there, without a write to that slice.
    let moved = json!({"endpoints": [copies[1]], "metadata": {"resourceVersion": "8"}});
    cluster.change("slices", "web-a", &moved);
    assert!(!is_found_in(duplicate, &read_again(&cluster)));
    cluster.change("slices", "web-a", &json!({"endpoints": copies}));
    assert!(is_found_in(duplicate, &read_again(&cluster)));
    cluster.change("slices", "web-b", &json!({"metadata": {"resourceVersion": "8"}}));
    assert!(!is_found_in(duplicate, &read_again(&cluster)), "another version");

    let mut orphaned = healthy();
    orphaned.change("services", "web", &Value::Null);
    for finding in &findings(&orphaned) {
        assert!(is_found_in(finding, &read_again(&orphaned)), "{finding:?}");
        assert!(!is_found_in(finding, &read_again(&healthy())), "{finding:?}");
    }
}
