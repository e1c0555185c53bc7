//! Repairs: only of objects of the controllers, in the version that was looked at.

use serde_json::json;

use super::cluster::{Cluster, HEADLESS, MANAGED_BY, SERVICE_NAME, SLICES, endpoint, slice};
use super::named;
use crate::audit::{Action, Repair};

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
    assert_eq!((slice.action(), slice.uid(), slice.resource_version()), (&Action::Delete, "uid-web-a", "7"));
    for repair in [endpoints, slice] {
        assert_eq!(repair.unless_exists().unwrap().to_string(), "Service shop/web");
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
fn objects_without_a_version_were_not_read_from_a_cluster() {
    let mut cluster = Cluster::healthy();
    drop(cluster.services.remove(0));
    for object in cluster.slices.iter_mut().chain(&mut cluster.endpoints) {
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    }
    assert_eq!(texts(&cluster), [""; 0]);
}
