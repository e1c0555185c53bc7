//! Counterparts of `reconciler_test.go`: what golden cases lack, or have otherwise on purpose.

use std::collections::BTreeMap;

use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, HEADLESS, MANAGED_BY, SERVICE_NAME};
use endpointslice::{AddressType, plan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;

use crate::support::{Cluster, NO_WRITES, PodExt as _, SERVICE, name_of, pod, service_port, size, writes};

/// Better than upstream, which writes one of them again and deletes the others.
#[test]
fn one_of_several_placeholders_stays_as_it_is() {
    let mut cluster = Cluster::with_pods(0);
    cluster.sync();
    let kept = name_of(cluster.only()).to_owned();
    for name in ["web-zzzzy", "web-zzzzz"] {
        let mut another = cluster.slices[0].clone();
        another.metadata.name = Some(name.to_owned());
        cluster.slices.push(another);
    }
    assert_eq!(cluster.sync(), writes(0, 0, 2));
    assert_eq!(name_of(cluster.only()), kept);
    // A placeholder that existed before serves as well when the last endpoints are removed.
    let filled = {
        let mut filled = Cluster::with_pods(1);
        filled.place(0..1);
        filled.only().clone()
    };
    cluster.slices.push(EndpointSlice { metadata: another_name(&filled), ..filled });
    assert_eq!(cluster.sync(), writes(0, 0, 1));
    assert_eq!(name_of(cluster.only()), kept);
}

/// Golden cases have owners with another uid or version, and none.
#[test]
fn an_owner_of_another_kind_is_not_the_service() {
    let mut cluster = Cluster::with_pods(1);
    cluster.sync();
    let slice = &mut cluster.slices[0];
    slice.metadata.owner_references.as_mut().unwrap()[0].kind = "Pod".to_owned();
    assert_eq!(cluster.sync(), writes(1, 0, 1));
}

fn another_name(slice: &EndpointSlice) -> ObjectMeta {
    ObjectMeta { name: Some("web-zzzzz".to_owned()), ..slice.metadata.clone() }
}

/// A placeholder of an older Service may be garbage-collected any time: of several such, none is kept, as in upstream.
#[test]
fn placeholders_of_an_older_service_are_replaced_if_there_are_several() {
    let mut cluster = Cluster::with_pods(0);
    cluster.sync();
    cluster.only_mut().metadata.owner_references.as_mut().unwrap()[0].uid = "older".to_owned();
    assert_eq!(cluster.clone().sync(), NO_WRITES, "one alone is kept");
    let mut another = cluster.slices[0].clone();
    another.metadata = another_name(&another);
    cluster.slices.push(another);
    assert_eq!(cluster.sync(), writes(1, 0, 2));
}

/// Name, annotations, age and owner make no difference, and neither does a label without a value.
#[test]
fn a_placeholder_is_recognized_by_type_ports_namespace_and_labels() {
    type Change = fn(&mut EndpointSlice);
    let label = |slice: &mut EndpointSlice, key: &str, value: &str| {
        slice.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    };
    let cases: [(&str, bool, Change); 8] = [
        ("the same", true, |_| ()),
        ("another age", true, |slice| {
            slice.metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        }),
        ("another name", true, |slice| slice.metadata.name = Some("other".to_owned())),
        ("an annotation", true, |slice| slice.metadata.annotations = None),
        ("absent lists", true, |slice| (slice.ports, slice.endpoints) = (None, None)),
        ("an owner of older times", true, |slice| {
            slice.metadata.owner_references.as_mut().unwrap()[0].uid = "older".to_owned();
        }),
        ("no labels", false, |slice| slice.metadata.labels = None),
        ("another namespace", false, |slice| slice.metadata.namespace = Some("elsewhere".to_owned())),
    ];
    for (what, equal, change) in cases {
        let mut cluster = Cluster::with_pods(0);
        cluster.sync();
        change(cluster.only_mut());
        assert_eq!(cluster.plan().is_empty(), equal, "{what}");
    }
    let mut other_type = Cluster::with_pods(0);
    other_type.sync();
    other_type.only_mut().address_type = "IPv6".to_owned();
    assert_eq!(other_type.sync(), writes(1, 0, 1), "another address type");
    for (key, value, equal) in [("empty", "", true), ("full", "x", false)] {
        let mut cluster = Cluster::with_pods(0);
        cluster.sync();
        label(cluster.only_mut(), key, value);
        assert_eq!(cluster.plan().is_empty(), equal, "{key}");
    }
}

/// 127 pods are missing: 100 fill a new slice, 27 fit into the slice that has 62.
#[test]
fn the_rest_goes_to_the_slice_it_fits_most_tightly() {
    let mut cluster = Cluster::with_pods(250);
    let (fuller, other) = (cluster.place(0..62), cluster.place(62..123));
    assert_eq!(cluster.sync(), writes(1, 1, 0));
    assert_eq!(cluster.sizes(), [100, 89, 61]);
    assert_eq!((size(cluster.slice(&fuller)), size(cluster.slice(&other))), (89, 61));
}

/// 152 pods are missing: neither slice of 74 has room for the remaining 52.
#[test]
fn new_slices_are_preferred_to_many_updates() {
    let mut cluster = Cluster::with_pods(300);
    cluster.place(0..74);
    cluster.place(74..148);
    assert_eq!(cluster.sync(), writes(2, 0, 0));
    assert_eq!(cluster.sizes(), [100, 74, 74, 52]);
}

#[test]
fn a_maximum_of_zero_counts_as_one() {
    let mut cluster = Cluster { max: 0, ..Cluster::with_pods(2) };
    assert_eq!(cluster.sync(), writes(2, 0, 0));
}

/// The API server returns `null` for an empty list, which must not count as a change.
#[test]
fn absent_ports_are_no_ports() {
    for pods in [0, 3] {
        let mut cluster = Cluster { absent_if_empty: true, ..Cluster::with_pods(pods) };
        cluster.spec().cluster_ip = Some("None".to_owned());
        cluster.spec().ports = None;
        assert_eq!(cluster.sync(), writes(1, 0, 0));
        assert_eq!((&cluster.only().ports, size(cluster.only())), (&None, pods));
        assert_eq!(cluster.sync(), NO_WRITES);
    }
}

/// Ports in another order are the same ports, and one slice more or less in the order of the cache is not a change.
#[test]
fn the_order_of_ports_on_the_wire_is_no_difference() {
    let mut cluster = Cluster::with_pods(1);
    let ports = ["http", "metrics", "admin"].map(|name| service_port(name, IntOrString::Int(8080)));
    cluster.spec().ports = Some(ports.to_vec());
    cluster.sync();
    cluster.only_mut().ports.as_mut().unwrap().reverse();
    assert_eq!(cluster.sync(), NO_WRITES);
    cluster.spec().ports.as_mut().unwrap().reverse();
    assert_eq!(cluster.sync(), NO_WRITES);
}

/// Without placeholders an address type may be left without slices.
#[test]
fn placeholders_are_optional() {
    let cluster = Cluster::with_pods(0);
    let options = endpointslice::PlanOptions { placeholder: false, ..cluster.options() };
    let plan = plan(&cluster.slices, cluster.desired(), &cluster.template(), &options);
    assert!(plan.is_empty());
    assert_eq!(plan.types[0].address_type, AddressType::Ipv4);
}

type Labels = BTreeMap<String, String>;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// The labels of every slice of the Service, and more.
fn with_own(more: &[(&str, &str)]) -> Labels {
    let mut all = labels(&[(SERVICE_NAME, SERVICE), (MANAGED_BY, ENDPOINTSLICE_CONTROLLER)]);
    all.extend(labels(more));
    all
}

/// Reserved labels are corrected by a write of any kind, also one for more endpoints or for hints.
#[test]
fn every_write_corrects_all_labels() {
    let spoilt = || {
        let mut cluster = Cluster::with_pods(1);
        cluster.place(0..1);
        cluster.only_mut().metadata.labels = Some(with_own(&[(HEADLESS, "")]));
        cluster
    };
    let changes: [fn(&mut Cluster); 3] = [
        |cluster| cluster.pods[0].set_ready(false),
        |cluster| cluster.pods.push(pod(1)),
        |cluster| cluster.spec().traffic_distribution = Some("PreferClose".to_owned()),
    ];
    for change in changes {
        let mut cluster = spoilt();
        assert_eq!(cluster.sync(), NO_WRITES);
        change(&mut cluster);
        assert_eq!(cluster.sync(), writes(0, 1, 0));
        assert_eq!(cluster.only().metadata.labels, Some(with_own(&[])));
    }
}

/// Under a rate limit the endpoints of an emptied slice would wait for the labels of all others.
#[test]
fn endpoints_are_written_before_labels() {
    let mut cluster = Cluster { max: 2, ..Cluster::with_pods(10) };
    cluster.sync();
    cluster.service.metadata.labels = Some(labels(&[("team", "shop")]));
    let emptied = &mut cluster.slices[2];
    emptied.endpoints = Some(Vec::new());
    let name = emptied.metadata.name.clone();
    let plan = cluster.plan();
    assert_eq!(plan.types[0].update[0].metadata.name, name);
    assert_eq!((plan.types[0].update.len(), size(&plan.types[0].update[0])), (5, 2));
}
