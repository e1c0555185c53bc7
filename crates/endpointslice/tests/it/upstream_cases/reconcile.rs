//! Counterparts of `reconciler_test.go`.

use endpointslice::desired::SkippedReason;
use endpointslice::plan::PortGroupStatistics;
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use endpointslice::{AddressType, plan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;

use crate::support::{
    Cluster, NO_WRITES, PodExt, TRIGGER_TIME, count, endpoints, name_of, node, pod, service_port, size,
    writes,
};

fn set_target_port(cluster: &mut Cluster, number: i32) {
    cluster.spec().ports = Some(vec![service_port("http", IntOrString::Int(number))]);
}

fn set_families(cluster: &mut Cluster, families: &[&str]) {
    cluster.spec().ip_families = Some(families.iter().map(|family| (*family).to_owned()).collect());
}

#[test]
fn a_service_without_pods_gets_a_placeholder() {
    let mut cluster = Cluster::with_pods(0);
    assert_eq!(cluster.sync(), writes(1, 0, 0));
    let placeholder = cluster.only();
    assert_eq!(placeholder.address_type, "IPv4");
    assert!(size(placeholder) == 0 && placeholder.ports.iter().all(Vec::is_empty));
    assert_eq!(placeholder.metadata.annotations.as_ref().unwrap()[LAST_CHANGE_TRIGGER_TIME], TRIGGER_TIME);
}

#[test]
fn every_kind_of_service_gets_slices_for_one_pod() {
    let (v4, v6) = (("IPv4", Some("10.1.0.1")), ("IPv6", Some("fd00::1")));
    let cases: [(&[&str], &str, Vec<(&str, Option<&str>)>); 6] = [
        (&["IPv4"], "10.96.0.10", vec![v4]),
        (&["IPv6"], "fd00:96::10", vec![v6]),
        (&["IPv4", "IPv6"], "10.96.0.10", vec![v4, v6]),
        (&[], "10.96.0.10", vec![v4]),
        (&[], "fd00:96::10", vec![v6]),
        (&[], "None", vec![v4, v6]),
    ];
    for (families, cluster_ip, expected) in cases {
        let mut cluster = Cluster::with_pods(0);
        cluster.pods = vec![pod(1).addresses(&["10.1.0.1", "fd00::1"])];
        set_families(&mut cluster, families);
        cluster.spec().cluster_ip = Some(cluster_ip.to_owned());
        assert_eq!(cluster.sync(), writes(expected.len(), 0, 0));
        let carried = |slice: &EndpointSlice| {
            let address = endpoints(slice).first().map(|endpoint| endpoint.addresses[0].clone());
            (slice.address_type.clone(), address)
        };
        let expected =
            expected.into_iter().map(|(kind, address)| (kind.to_owned(), address.map(str::to_owned)));
        assert!(cluster.slices.iter().map(carried).eq(expected), "{families:?} {cluster_ip}");
    }
}

#[test]
fn a_family_without_addresses_gets_a_placeholder_beside_the_other() {
    let mut cluster = Cluster::with_pods(3);
    set_families(&mut cluster, &["IPv4", "IPv6"]);
    assert_eq!(cluster.sync(), writes(2, 0, 0));
    assert_eq!(cluster.sizes(), [3, 0]);
}

#[test]
fn a_placeholder_is_created_kept_or_corrected() {
    let mut cluster = Cluster::with_pods(0);
    assert_eq!(cluster.sync(), writes(1, 0, 0));
    assert_eq!(cluster.sync(), NO_WRITES);
    cluster.only_mut().metadata.labels.as_mut().unwrap().insert("stale".to_owned(), "yes".to_owned());
    assert_eq!(cluster.sync(), writes(0, 1, 0));
}

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

#[test]
fn not_ready_pods_are_published_as_ready_if_the_service_requests_it() {
    let mut cluster = Cluster::with_pods(50);
    for pod in cluster.pods.iter_mut().step_by(3) {
        pod.set_ready(false);
    }
    cluster.spec().publish_not_ready_addresses = Some(true);
    assert_eq!(cluster.sync(), writes(1, 0, 0));
    assert!(cluster.endpoints().all(|endpoint| endpoint.conditions.as_ref().unwrap().ready == Some(true)));
    assert_eq!(
        cluster.endpoints().filter(|e| e.conditions.as_ref().unwrap().serving == Some(false)).count(),
        17
    );
}

#[test]
fn many_pods_fill_slices() {
    let mut cluster = Cluster::with_pods(250);
    assert_eq!(cluster.sync(), writes(3, 0, 0));
    assert_eq!(cluster.sizes(), [100, 100, 50]);
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
fn a_new_port_reuses_the_slices() {
    let mut cluster = Cluster::with_pods(250);
    cluster.sync();
    let names: Vec<String> = cluster.slices.iter().map(|slice| name_of(slice).to_owned()).collect();
    set_target_port(&mut cluster, 8081);
    assert_eq!(cluster.sync(), writes(0, 3, 0));
    assert_eq!(cluster.sizes(), [100, 100, 50]);
    assert!(names.iter().all(|name| cluster.slice(name).ports.as_ref().unwrap()[0].port == Some(8081)));
}

/// A recycled slice is replaced unconditionally: after a conflict, the same would be written again.
#[test]
fn a_recycled_slice_is_new_but_for_its_name() {
    let mut cluster = Cluster::with_pods(1);
    cluster.sync();
    cluster.only_mut().metadata.finalizers = Some(vec!["example.com/wait".to_owned()]);
    set_target_port(&mut cluster, 8081);
    let plan = cluster.plan();
    let [update] = plan.types[0].update.as_slice() else { panic!("{plan:#?}") };
    assert_eq!(name_of(update), name_of(cluster.only()));
    assert_eq!(update.metadata.generate_name.as_deref(), Some("web-"));
    assert_eq!((&update.metadata.resource_version, &update.metadata.uid), (&None, &None));
    assert_eq!(update.metadata.finalizers, None);
}

#[test]
fn recycling_repacks_for_free() {
    let mut cluster = Cluster::with_pods(300);
    for slice in 0..10 {
        cluster.place(slice * 30..slice * 30 + 30);
    }
    assert_eq!(cluster.sync(), NO_WRITES, "half-empty slices are left alone");
    set_target_port(&mut cluster, 8081);
    assert_eq!(cluster.sync(), writes(0, 3, 7));
    assert_eq!(cluster.sizes(), [100, 100, 100]);
}

#[test]
fn slices_written_anyway_are_filled_fullest_first() {
    let mut cluster = Cluster::with_pods(100);
    cluster.place(80..100);
    cluster.place(0..80);
    for pod in cluster.pods.iter_mut().step_by(10) {
        pod.set_ready(false);
    }
    cluster.pods.extend((200..215).map(pod));
    assert_eq!(cluster.sync(), writes(0, 2, 0));
    assert_eq!(cluster.sizes(), [95, 20]);
}

/// The address type of a slice is immutable, so slices of another type cannot be reused.
#[test]
fn slices_of_other_address_types_are_replaced() {
    for other in ["IP", "FQDN", "IPv6"] {
        let mut cluster = Cluster::with_pods(130);
        cluster.place(0..80);
        cluster.place(80..130);
        cluster.slices.iter_mut().for_each(|slice| slice.address_type = other.to_owned());
        assert_eq!(cluster.sync(), writes(2, 0, 2), "{other}");
        assert_eq!(cluster.sizes(), [100, 30]);
        assert!(cluster.slices.iter().all(|slice| slice.address_type == "IPv4"));
    }
}

#[test]
fn slices_of_an_older_service_are_replaced() {
    let mut cluster = Cluster::with_pods(1);
    let old = cluster.place(0..1);
    assert_eq!(cluster.sync(), NO_WRITES);
    cluster.only_mut().metadata.owner_references.as_mut().unwrap()[0].uid = "older".to_owned();
    assert_eq!(cluster.sync(), writes(1, 0, 1));
    assert_ne!(name_of(cluster.only()), old);
}

/// One owner among several is enough, but uid, kind and version must all be right.
#[test]
fn an_owner_reference_counts_by_uid_kind_and_version() {
    let mut cluster = Cluster::with_pods(1);
    cluster.sync();
    let owners = |cluster: &mut Cluster| cluster.only_mut().metadata.owner_references.take().unwrap();
    let owner = owners(&mut cluster).remove(0);
    let other = |change: fn(&mut _)| {
        let mut other = owner.clone();
        change(&mut other);
        other
    };
    let pod = other(|owner: &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference| {
        owner.kind = "Pod".to_owned();
    });
    let beta = other(|owner| owner.api_version = "v1beta1".to_owned());
    let older = other(|owner| owner.uid = "older".to_owned());
    for (owners, ours) in [
        (vec![older.clone(), owner.clone()], true),
        (vec![older], false),
        (vec![pod], false),
        (vec![beta], false),
        (vec![], false),
    ] {
        cluster.only_mut().metadata.owner_references = Some(owners.clone());
        assert_eq!(cluster.plan().is_empty(), ours, "{owners:?}");
    }
}

#[test]
fn pods_are_grouped_by_what_a_named_port_means() {
    let mut cluster = Cluster::with_pods(300);
    cluster.spec().ports = Some(vec![service_port("", IntOrString::String("http".to_owned()))]);
    for (number, pod) in cluster.pods.iter_mut().enumerate() {
        pod.set_ports(&[("http", "TCP", [9000, 9001, 9002, 9003, 9004][number % 5])]);
    }
    assert_eq!(cluster.sync(), writes(5, 0, 0));
    assert_eq!(cluster.sizes(), [60; 5]);
    let mut ports: Vec<_> =
        cluster.slices.iter().map(|slice| slice.ports.as_ref().unwrap()[0].clone()).collect();
    ports.sort_by_key(|port| port.port);
    assert!(ports.iter().map(|port| port.port.unwrap()).eq(9000..9005));
    assert!(
        ports.iter().all(|port| port.name.as_deref() == Some("") && port.protocol.as_deref() == Some("TCP"))
    );
}

#[test]
fn the_maximum_decides_the_number_of_slices() {
    for (max, sizes) in [
        (50, vec![50; 5]),
        (80, vec![80, 80, 80, 10]),
        (150, vec![150, 100]),
        (250, vec![250]),
        (500, vec![250]),
    ] {
        let mut cluster = Cluster { max, ..Cluster::with_pods(250) };
        assert_eq!(cluster.sync(), writes(sizes.len(), 0, 0));
        assert_eq!(cluster.sizes(), sizes, "at most {max}");
    }
}

/// Lowering the maximum splits nothing; slices only stop growing.
#[test]
fn an_over_full_slice_is_left_alone() {
    let mut cluster = Cluster { max: 10, ..Cluster::with_pods(30) };
    let full = cluster.place(0..25);
    assert_eq!(cluster.sync(), writes(1, 0, 0));
    assert_eq!(cluster.sizes(), [25, 5]);
    cluster.pods[0].set_ready(false);
    cluster.pods.push(pod(100));
    assert_eq!(cluster.sync(), writes(0, 2, 0));
    assert_eq!((size(cluster.slice(&full)), cluster.sizes()), (25, vec![25, 6]));
}

#[test]
fn a_maximum_of_zero_counts_as_one() {
    let mut cluster = Cluster { max: 0, ..Cluster::with_pods(2) };
    assert_eq!(cluster.sync(), writes(2, 0, 0));
}

#[test]
fn a_plan_has_statistics() {
    let mut cluster = Cluster::with_pods(20);
    let figures = |cluster: &Cluster| {
        let plan = cluster.plan();
        let statistics = plan.types[0].statistics.clone();
        let groups: Vec<PortGroupStatistics> = statistics.groups.into_values().collect();
        (statistics.endpoints_added, statistics.endpoints_removed, groups)
    };
    let group = |endpoints, slices| vec![PortGroupStatistics { endpoints, slices }];
    assert_eq!(figures(&cluster), (20, 0, group(20, 1)));
    cluster.sync();
    cluster.pods.truncate(10);
    assert_eq!(figures(&cluster), (0, 10, group(10, 1)));
    cluster.sync();
    cluster.pods.clear();
    assert_eq!(figures(&cluster), (0, 0, group(0, 1)), "nothing is desired: one placeholder");
}

/// Creates are held back, because garbage collection may already be removing slices. What replaces a slice is an
/// update and goes through.
#[test]
fn a_service_being_deleted_gets_updates_and_no_creates() {
    let deleting = |mut cluster: Cluster| {
        cluster.service.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        cluster
    };
    let new = deleting(Cluster::with_pods(3));
    assert_eq!(new.clone().sync(), NO_WRITES);
    assert_eq!(count(&new.plan()), writes(1, 0, 0), "still counted as a change");

    let mut grown = Cluster { max: 3, ..Cluster::with_pods(5) };
    grown.place(0..2);
    grown.pods[0].set_ready(false);
    let mut with_create = grown.clone();
    assert_eq!(with_create.sync(), writes(1, 1, 0));
    assert_eq!(deleting(grown).sync(), writes(0, 1, 0));

    let mut other_port = Cluster { max: 3, ..Cluster::with_pods(6) };
    other_port.place(0..3);
    set_target_port(&mut other_port, 8081);
    assert_eq!(other_port.clone().sync(), writes(1, 1, 0));
    let mut deleting_it = deleting(other_port);
    assert_eq!(deleting_it.sync(), writes(0, 1, 0));
    assert_eq!(deleting_it.only().ports.as_ref().unwrap()[0].port, Some(8081));

    let mut shrunk = Cluster { max: 3, ..Cluster::with_pods(6) };
    shrunk.place(0..3);
    shrunk.place(3..6);
    shrunk.pods.truncate(2);
    assert_eq!(deleting(shrunk).sync(), writes(0, 1, 1));
}

/// The zone of such a pod is unknown, so it is skipped, unless the Service publishes not-ready addresses.
#[test]
fn a_pod_on_an_unknown_node_is_skipped() {
    let both = || {
        let mut cluster = Cluster::with_pods(2);
        cluster.pods[1].set_node("node-b");
        cluster
    };
    let known = |nodes: &[&str]| nodes.iter().map(|name| node(name, "")).collect::<Vec<_>>();
    for (nodes, publish, carried, skipped, expected) in [
        (&["node-a"][..], false, 0, vec!["pod-1"], (writes(1, 0, 0), vec![1])),
        (&["node-a"], true, 0, vec![], (writes(1, 0, 0), vec![2])),
        (&["node-a"], false, 2, vec!["pod-1"], (writes(0, 1, 0), vec![1])),
        (&["node-a"], true, 2, vec![], (NO_WRITES, vec![2])),
        (&[], true, 2, vec![], (NO_WRITES, vec![2])),
        (&[], false, 2, vec!["pod-0", "pod-1"], (writes(0, 1, 0), vec![0])),
    ] {
        let mut cluster = both();
        cluster.spec().publish_not_ready_addresses = Some(publish);
        cluster.nodes = known(&["node-a", "node-b"]);
        if carried > 0 {
            cluster.place(0..carried);
        }
        cluster.nodes = known(nodes);
        let desired = cluster.desired();
        let names: Vec<&str> = desired.skipped().iter().map(|skipped| skipped.name.as_str()).collect();
        assert_eq!(names, skipped);
        assert_eq!((cluster.sync(), cluster.sizes()), expected, "{nodes:?} {publish} {carried}");
    }
    let mut cluster = both();
    cluster.pods[0].edit().1.node_name = None;
    let skipped = cluster.desired().skipped().to_vec();
    assert_eq!(skipped[0].reason, SkippedReason::NodeNotFound(String::new()), "not scheduled is not known");
}

#[test]
fn hints_follow_traffic_distribution() {
    let hints = |traffic: Option<&str>| {
        let mut cluster = Cluster::with_pods(3);
        cluster.pods[1].set_node("node-b");
        cluster.pods[2].set_ready(false);
        cluster.spec().traffic_distribution = traffic.map(str::to_owned);
        assert_eq!(cluster.sync(), writes(1, 0, 0));
        let hints = cluster.endpoints().map(|endpoint| {
            let hints = endpoint.hints.as_ref()?;
            let zones = hints.for_zones.iter().flatten().map(|zone| zone.name.clone());
            Some(
                zones
                    .chain(hints.for_nodes.iter().flatten().map(|node| node.name.clone()))
                    .collect::<Vec<_>>(),
            )
        });
        hints.collect::<Vec<_>>()
    };
    let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(hints(None), [None, None, None]);
    assert_eq!(hints(Some("SomethingNew")), [None, None, None]);
    assert_eq!(hints(Some("PreferClose")), [some(&["zone-a"]), some(&["zone-b"]), None]);
    assert_eq!(hints(Some("PreferSameZone")), [some(&["zone-a"]), some(&["zone-b"]), None]);
    assert_eq!(
        hints(Some("PreferSameNode")),
        [some(&["zone-a", "node-a"]), some(&["zone-b", "node-b"]), None]
    );
}

/// Hints that are no longer desired cause a write; hints of an endpoint that isn't ready don't.
#[test]
fn hints_change_with_the_service() {
    let mut cluster = Cluster::with_pods(2);
    cluster.spec().traffic_distribution = Some("PreferSameNode".to_owned());
    cluster.sync();
    cluster.spec().traffic_distribution = Some("PreferSameZone".to_owned());
    assert_eq!(cluster.sync(), writes(0, 1, 0));
    cluster.spec().traffic_distribution = None;
    assert_eq!(cluster.sync(), writes(0, 1, 0));
    assert!(cluster.endpoints().all(|endpoint| endpoint.hints.is_none()));
}

/// Two pods in two zones are enough for topology hints, which name no nodes; one is not.
#[test]
fn the_topology_annotation_hides_traffic_distribution() {
    let mut cluster = Cluster::with_pods(2);
    cluster.pods[1].set_node("node-b");
    cluster.spec().traffic_distribution = Some("PreferSameNode".to_owned());
    cluster.sync();
    let key = endpointslice::well_known::TOPOLOGY_MODE.to_owned();
    cluster.service.metadata.annotations = Some([(key, "Auto".to_owned())].into());
    assert_eq!(cluster.sync(), NO_WRITES, "the zones found are right, and nodes in them do no harm");
    cluster.slices.clear();
    cluster.sync();
    let hints = || cluster.endpoints().map(|endpoint| endpoint.hints.clone().unwrap());
    assert!(hints().all(|hints| hints.for_zones.is_some() && hints.for_nodes.is_none()));
    cluster.pods.truncate(1);
    cluster.sync();
    assert!(cluster.endpoints().all(|endpoint| endpoint.hints.is_none()));
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

/// Ports in another order are the same ports, and one slice more or less in the order of the cache is no change.
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

/// An endpoint found twice stays in the first slice by name.
#[test]
fn duplicates_are_removed() {
    let mut cluster = Cluster::with_pods(3);
    cluster.place(0..2);
    cluster.place(1..3);
    let twice = endpoints(&cluster.slices[0])[0].clone();
    cluster.slices[0].endpoints.as_mut().unwrap().push(twice);
    assert_eq!(cluster.sync(), writes(0, 2, 0));
    assert_eq!(cluster.endpoints().count(), 3);
}

/// Foreign annotations, finalizers and owners survive an update.
#[test]
fn an_update_keeps_what_others_added() {
    let mut cluster = Cluster::with_pods(2);
    cluster.place(0..1);
    let metadata = &mut cluster.only_mut().metadata;
    metadata.finalizers = Some(vec!["example.com/wait".to_owned()]);
    metadata.annotations = Some([("example.com/note".to_owned(), "kept".to_owned())].into());
    cluster.trigger_time = None;
    assert_eq!(cluster.sync(), writes(0, 1, 0));
    let metadata = &cluster.only().metadata;
    assert_eq!(metadata.finalizers.as_deref(), Some(&["example.com/wait".to_owned()][..]));
    assert_eq!(metadata.annotations.as_ref().unwrap()["example.com/note"], "kept");
}

#[test]
fn the_trigger_time_is_set_or_removed_by_a_write_but_causes_none() {
    let annotation = |cluster: &Cluster| {
        let annotations = cluster.only().metadata.annotations.clone();
        annotations.and_then(|annotations| annotations.get(LAST_CHANGE_TRIGGER_TIME).cloned())
    };
    let mut cluster = Cluster::with_pods(1);
    cluster.sync();
    assert_eq!(annotation(&cluster).as_deref(), Some(TRIGGER_TIME));
    cluster.trigger_time = None;
    assert_eq!(cluster.sync(), NO_WRITES);
    assert_eq!(annotation(&cluster).as_deref(), Some(TRIGGER_TIME), "not written, not touched");
    cluster.pods[0].set_ready(false);
    cluster.sync();
    assert_eq!(annotation(&cluster), None);
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
