//! Repairs: only of objects of the controllers, in the version that was looked at.

use serde_json::json;

use super::cluster::{Cluster, HEADLESS, MANAGED_BY, SERVICE_NAME, SLICES, endpoint, slice};
use super::named;
use crate::audit::{Action, Repair, is_found_in};
use crate::snapshot::{Kind, Snapshot};

fn repairs(cluster: &Cluster) -> Vec<Repair> {
    cluster.audit().findings.into_iter().filter_map(|finding| finding.repair).collect()
}

fn texts(cluster: &Cluster) -> Vec<String> {
    repairs(cluster).iter().map(ToString::to_string).collect()
}

#[test]
fn orphans_are_deleted_if_they_are_as_they_were_seen() {
    let mut cluster = Cluster::healthy();
    drop(cluster.services.remove(0));
    let repairs = repairs(&cluster);
    let [endpoints, slice] = repairs.as_slice() else { panic!("{repairs:?}") };
    assert_eq!(endpoints.to_string(), "delete Endpoints shop/web");
    assert_eq!((&slice.action, &*slice.uid, &*slice.resource_version), (&Action::Delete, "uid-web-a", "7"));
    for repair in [endpoints, slice] {
        assert_eq!(repair.unless_exists.as_ref().unwrap().to_string(), "Service shop/web");
    }
}

#[test]
fn endpoints_in_which_others_keep_state_are_not_deleted() {
    let mut cluster = Cluster::healthy();
    drop(cluster.services.remove(0));
    cluster.endpoints[0]["metadata"]["annotations"] = json!({"initialize": "6840371529"});
    assert_eq!(texts(&cluster), ["delete EndpointSlice shop/web-a"]);
    cluster.endpoints[0]["metadata"]["annotations"] = json!({});
    cluster.endpoints[0]["metadata"]["labels"] = json!({});
    assert_eq!(texts(&cluster), ["delete EndpointSlice shop/web-a"]);
}

/// Of a deleted Service that was delegated: since Kubernetes 1.37 no API server deletes them.
#[test]
fn endpoints_that_another_controller_made_are_deleted_without_their_service() {
    let mut cluster = Cluster::healthy();
    drop(cluster.services.remove(0));
    cluster.endpoints[0]["metadata"]["labels"] =
        json!({"endpoints.kubernetes.io/managed-by": "mesh.example"});
    assert_eq!(texts(&cluster), ["delete Endpoints shop/web", "delete EndpointSlice shop/web-a"]);
}

#[test]
fn slices_of_other_managers_are_never_repaired() {
    let mut cluster = Cluster::healthy();
    cluster.slices[0]["metadata"]["labels"][MANAGED_BY] = "endpointslice-controler.k8s.io".into();
    cluster.slices[1]["metadata"]["labels"] = json!({SERVICE_NAME: "gone", MANAGED_BY: "mesh.example"});
    cluster.slices.push(named(slice("web", "mesh.example", vec![endpoint("web-1", "10.1.0.1")]), "web-b"));
    cluster.slices.push(named(slice("web", "mesh.example", vec![endpoint("web-1", "10.1.0.1")]), "web-c"));
    assert!(cluster.findings().len() > 2);
    assert_eq!(texts(&cluster), [""; 0]);
}

#[test]
fn labels_and_owners_are_restored() {
    let mut cluster = Cluster::healthy();
    cluster.slices[0]["metadata"]["labels"] = json!({MANAGED_BY: SLICES});
    assert_eq!(texts(&cluster), ["set the label kubernetes.io/service-name=web of EndpointSlice shop/web-a"]);

    let mut cluster = Cluster::healthy();
    cluster.slices[0]["metadata"]["labels"][HEADLESS] = "".into();
    assert_eq!(
        texts(&cluster),
        ["remove the label service.kubernetes.io/headless of EndpointSlice shop/web-a"]
    );

    let mut cluster = Cluster::healthy();
    cluster.slices[0]["metadata"]["ownerReferences"] = json!([]);
    assert_eq!(texts(&cluster), ["add the owner Service web (uid uid-web) to EndpointSlice shop/web-a"]);
}

#[test]
fn a_slice_is_deleted_as_a_duplicate_only_if_others_have_all_its_endpoints() {
    let mut cluster = Cluster::healthy();
    let one = || endpoint("web-1", "10.1.0.1");
    for name in ["web-b", "web-c"] {
        cluster.slices.push(named(slice("web", SLICES, vec![one()]), name));
    }
    assert_eq!(texts(&cluster), ["delete EndpointSlice shop/web-b", "delete EndpointSlice shop/web-c"]);

    let mut cluster = Cluster::healthy();
    let other = json!({"addresses": ["10.1.0.9"], "conditions": {"ready": true}});
    cluster.slices.push(named(slice("web", SLICES, vec![one(), other]), "web-b"));
    assert_eq!(texts(&cluster), [""; 0]);
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
        let mut cluster = Cluster::healthy();
        cluster.slices[0]["endpoints"][0]["conditions"] = kept.clone();
        let mut copy = named(slice("web", SLICES, vec![endpoint("web-1", "10.1.0.1")]), "web-b");
        copy["endpoints"][0]["conditions"] = other.clone();
        cluster.slices.push(copy);
        let expected: &[&str] = if is_deleted { &["delete EndpointSlice shop/web-b"] } else { &[] };
        assert_eq!(texts(&cluster), expected, "{kept} {other}");
        assert!(cluster.findings().iter().any(|it| it.starts_with("duplicate-endpoint")), "{kept} {other}");
    }
}

/// The Service `web`, its Endpoints and its slices alone.
fn read_again(cluster: &Cluster) -> Snapshot {
    let mut snapshot = cluster.snapshot(&[Kind::Pods, Kind::Nodes, Kind::Namespaces]);
    snapshot.set_now("2026-06-01T00:00:10Z".parse().unwrap());
    snapshot
}

#[test]
fn a_finding_is_found_again_as_long_as_its_reason_is_there() {
    let mut cluster = Cluster::healthy();
    let copies = [("web-1", "10.1.0.1"), ("web-2", "10.1.0.2")].map(|(pod, ip)| endpoint(pod, ip));
    cluster.slices.push(named(slice("web", SLICES, copies[..1].to_vec()), "web-b"));
    let findings = cluster.audit().findings;
    let [duplicate] = findings.as_slice() else { panic!("{findings:?}") };
    assert!(is_found_in(duplicate, &read_again(&cluster)));
    // Its controller has moved the endpoint there, without a write to that slice.
    cluster.slices[0]["endpoints"] = json!(copies[1..]);
    cluster.slices[0]["metadata"]["resourceVersion"] = "8".into();
    assert!(!is_found_in(duplicate, &read_again(&cluster)));
    cluster.slices[0]["endpoints"] = json!(copies);
    assert!(is_found_in(duplicate, &read_again(&cluster)));
    cluster.slices[2]["metadata"]["resourceVersion"] = "8".into();
    assert!(!is_found_in(duplicate, &read_again(&cluster)), "another version");

    let mut orphaned = Cluster::healthy();
    drop(orphaned.services.remove(0));
    for finding in &orphaned.audit().findings {
        assert!(is_found_in(finding, &read_again(&orphaned)), "{finding:?}");
        assert!(!is_found_in(finding, &read_again(&Cluster::healthy())), "{finding:?}");
    }
}

#[test]
fn objects_without_a_version_were_not_read_from_a_cluster() {
    let mut cluster = Cluster::healthy();
    drop(cluster.services.remove(0));
    for object in cluster.slices.iter_mut().chain(&mut cluster.endpoints) {
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    }
    assert_eq!(texts(&cluster), [""; 0]);
}
