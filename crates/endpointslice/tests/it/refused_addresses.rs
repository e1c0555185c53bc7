//! Addresses that the API server refuses in a write, but accepts in slices that carry them already.
//!
//! The API server checks the endpoints of a slice only if they change (`pkg/apis/discovery/validation`
//! `ValidateEndpointSlice`); the one of these tests does the same. Properties of [`plan_properties`](crate::plan_properties)
//! say which slices keep such addresses.

use endpointslice::desired::{Mirrored, Skipped, SkippedReason, desired_from_endpoints};
use endpointslice::{Hints, Packing, PlanOptions, plan};
use serde_json::json;

use crate::support::{Cluster, NO_WRITES, PodExt as _, SERVICE, endpoints, writes};

/// Slices of two pods each, the first pod of each with a link-local address: written when that was allowed.
fn with_old_slices(pods: usize) -> Cluster {
    let mut cluster = Cluster { max: 2, ..Cluster::with_pods(pods) };
    cluster.sync();
    for number in (0..pods).step_by(2) {
        cluster.move_to_link_local(number);
    }
    cluster
}

fn addresses(cluster: &Cluster) -> Vec<&str> {
    let mut found: Vec<&str> = cluster.endpoints().map(|endpoint| endpoint.addresses[0].as_str()).collect();
    found.sort_unstable();
    found
}

#[test]
fn a_write_for_labels_keeps_refused_addresses() {
    let mut cluster = with_old_slices(2);
    cluster.service.metadata.labels = Some([("team".to_owned(), "shop".to_owned())].into());
    assert_eq!(cluster.sync(), writes(0, 1, 0));
    assert_eq!(addresses(&cluster), ["10.1.0.1", "169.254.0.0"]);
}

#[test]
fn a_slice_left_empty_becomes_the_placeholder() {
    let mut cluster = with_old_slices(1);
    cluster.pods[0].set_ready(false);
    assert_eq!(cluster.sync(), writes(0, 1, 0));
    assert_eq!((addresses(&cluster), &cluster.only().ports), (vec![], &Some(vec![])));
}

/// Pods have one address of each family, but not those of other networks.
#[test]
fn an_endpoint_keeps_its_allowed_addresses() {
    let mut cluster = with_old_slices(1);
    cluster.pods[0].set_addresses(&["169.254.0.0", "10.1.0.9"]);
    cluster.only_mut().endpoints.as_mut().unwrap()[0].addresses.insert(0, "10.1.0.9".to_owned());
    assert_eq!(cluster.sync(), NO_WRITES);
    cluster.pods[0].set_ready(false);
    assert_eq!(cluster.sync(), writes(0, 1, 0));
    assert_eq!(endpoints(cluster.only())[0].addresses, ["10.1.0.9"]);
}

#[test]
fn a_plan_names_the_refused_addresses_it_keeps() {
    let mut cluster = with_old_slices(4);
    cluster.pods[3].set_ready(false);
    let (desired, plan) = (cluster.desired(), cluster.plan());
    let skipped = |number| Skipped {
        name: format!("pod-{number}"),
        reason: SkippedReason::AddressNotAllowed([169, 254, 0, number].into()),
    };
    assert_eq!(desired.skipped(), [skipped(0), skipped(2)]);
    assert_eq!(
        desired.skipped().iter().map(|skipped| plan.keeps(skipped)).collect::<Vec<_>>(),
        [true, false]
    );
    assert_eq!(plan.types[0].statistics.groups.values().map(|group| group.endpoints).sum::<usize>(), 3);
}

#[test]
fn mirrored_slices_keep_refused_addresses() {
    let mut cluster = with_old_slices(2);
    let mirror = json!({"metadata": {"name": SERVICE, "namespace": "shop"}, "subsets": [{
        "addresses": [{"ip": "10.1.0.1"}, {"ip": "169.254.0.0"}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }]});
    let mirror = serde_json::from_value(mirror).unwrap();
    for endpoint in cluster.only_mut().endpoints.as_mut().unwrap() {
        endpoint.conditions.as_mut().unwrap().serving = None;
        endpoint.conditions.as_mut().unwrap().terminating = None;
        (endpoint.node_name, endpoint.target_ref, endpoint.zone) = (None, None, None);
    }
    let options =
        PlanOptions { packing: Packing::Single { max: 1000 }, placeholder: false, hints: Hints::Keep };
    let plan_for = |cluster: &Cluster| {
        let Mirrored { desired, .. } = desired_from_endpoints(&mirror, 1000);
        plan(&cluster.slices, desired, &cluster.template(), &options)
    };
    let kept = plan_for(&cluster);
    assert!(kept.is_empty(), "{kept:#?}");
    assert_eq!(kept.types[0].tolerated.len(), 1);
    cluster.only_mut().endpoints.as_mut().unwrap()[1].hostname = Some("other".to_owned());
    let changed = plan_for(&cluster);
    let left: Vec<_> = changed.types[0].update.iter().flat_map(endpoints).map(|e| &*e.addresses[0]).collect();
    assert_eq!((left, changed.types[0].tolerated.len()), (vec!["10.1.0.1"], 0));
}
