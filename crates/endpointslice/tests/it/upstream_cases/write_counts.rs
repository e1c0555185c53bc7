//! The writes that each kind of change costs for each address type: never more than upstream.
//!
//! | Change | Writes | Test |
//! |---|---|---|
//! | new Service without pods | 1 create | [`a_new_service_without_pods_costs_one_create`] |
//! | first endpoints | 1 update of the placeholder, creates beyond the maximum | [`the_first_endpoints_reuse_the_placeholder`] |
//! | one pod more | 1 update if there is room, else 1 create | [`one_more_pod_costs_one_write`] |
//! | readiness, end, uid, node, zone of a pod | 1 update for each slice concerned | [`a_change_of_a_pod_costs_an_update_of_its_slice`], [`a_change_of_a_zone_costs_an_update_of_each_slice`] |
//! | last endpoints go from `k` slices | 1 unconditional update, `k - 1` deletes | [`removing_the_last_endpoints_leaves_a_placeholder`] |
//! | other ports, `k` slices, `c` new ones | `min(c, k)` updates, the rest created or deleted | [`a_change_of_ports_reuses_slices`] |
//! | other ports, 10 slices of 30 | 3 updates, 7 deletes | [`a_change_of_ports_reuses_slices`] |
//! | a label of the Service | 1 update for each slice, unconditional for the placeholder | [`a_service_label_costs_an_update_of_each_slice`] |
//! | annotations, spec that doesn't concern slices | none | [`a_change_that_does_not_concern_slices_costs_nothing`] |
//! | reserved labels, headless or not | none | [`reserved_labels_and_the_cluster_ip_cost_nothing`] |
//! | Service created again | creates and deletes | [`a_recreated_service_costs_creates_and_deletes`] |
//! | 250 pods for slices of 62 and 61 | 1 create, 1 update | [`super::reconcile::the_rest_goes_to_the_slice_it_fits_most_tightly`] |
//! | 300 pods for slices of 74 and 74 | 2 creates | [`super::reconcile::new_slices_are_preferred_to_many_updates`] |

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::support::{
    Cluster, NO_WRITES, PodExt, Writes, container_ports, count, pod, service_port, size, writes,
};

/// A cluster without changes: `max` endpoints in a slice, all slices but the last full.
fn settled(pods: usize, max: usize) -> Cluster {
    let mut cluster = Cluster { max, ..Cluster::with_pods(pods) };
    cluster.sync();
    cluster
}

fn cost(mut cluster: Cluster, change: impl FnOnce(&mut Cluster)) -> Writes {
    change(&mut cluster);
    cluster.sync()
}

/// True if the next update of this one slice replaces any present content by a placeholder.
fn replaces_unconditionally(cluster: &Cluster) -> bool {
    let plan = cluster.plan();
    let update = &plan.types[0].update[0];
    assert_eq!(count(&plan), writes(0, 1, 0));
    assert_eq!(update.metadata.name, cluster.only().metadata.name);
    update.metadata.resource_version.is_none() && size(update) == 0 && update.ports.iter().all(Vec::is_empty)
}

fn target_port(number: i32) -> impl FnOnce(&mut Cluster) {
    move |cluster| cluster.spec().ports = Some(vec![service_port("http", IntOrString::Int(number))])
}

#[test]
fn a_new_service_without_pods_costs_one_create() {
    assert_eq!(Cluster::with_pods(0).sync(), writes(1, 0, 0));
}

#[test]
fn the_first_endpoints_reuse_the_placeholder() {
    assert_eq!(cost(settled(0, 2), |c| c.pods.push(pod(0))), writes(0, 1, 0), "the placeholder is recycled");
    assert_eq!(cost(settled(0, 2), |c| c.pods.extend((0..5).map(pod))), writes(2, 1, 0));
    let mut headless = Cluster { max: 2, ..Cluster::with_pods(0) };
    headless.spec().cluster_ip = Some("None".to_owned());
    headless.spec().ports = None;
    headless.sync();
    assert_eq!(cost(headless.clone(), |c| c.pods.push(pod(0))), writes(0, 1, 0), "the placeholder is filled");
    assert_eq!(cost(headless.clone(), |c| c.pods.extend((0..3).map(pod))), writes(1, 1, 0));
    assert_eq!(
        cost(headless, |c| c.pods.extend((0..2).map(pod))),
        writes(1, 0, 0),
        "a full slice is a new one"
    );
}

#[test]
fn one_more_pod_costs_one_write() {
    assert_eq!(cost(settled(3, 2), |c| c.pods.push(pod(9))), writes(0, 1, 0), "there is room");
    assert_eq!(cost(settled(4, 2), |c| c.pods.push(pod(9))), writes(1, 0, 0), "there is none");
}

#[test]
fn a_change_of_a_pod_costs_an_update_of_its_slice() {
    assert_eq!(cost(settled(4, 2), |c| c.pods[0].set_ready(false)), writes(0, 1, 0));
    assert_eq!(cost(settled(4, 2), |c| c.pods[0].set_terminating()), writes(0, 1, 0));
    assert_eq!(cost(settled(4, 2), |c| c.pods[0].metadata.uid = Some("again".to_owned())), writes(0, 1, 0));
    assert_eq!(cost(settled(4, 2), |c| c.pods[0].set_node("node-b")), writes(0, 1, 0));
    assert_eq!(
        cost(settled(4, 2), |c| c.pods.iter_mut().for_each(|pod| pod.set_ready(false))),
        writes(0, 2, 0)
    );
    assert_eq!(
        cost(settled(4, 4), |c| c.pods[0].set_addresses(&["10.1.9.9"])),
        writes(0, 1, 0),
        "out and in"
    );
}

/// A zone reaches slices with the next sync of the Service.
#[test]
fn a_change_of_a_zone_costs_an_update_of_each_slice() {
    let move_zone = |cluster: &mut Cluster| {
        cluster.nodes[0].metadata.labels.as_mut().unwrap().clear();
    };
    assert_eq!(cost(settled(4, 2), move_zone), writes(0, 2, 0));
}

#[test]
fn removing_the_last_endpoints_leaves_a_placeholder() {
    assert_eq!(cost(settled(2, 2), |c| c.pods.clear()), writes(0, 1, 0), "the slice becomes the placeholder");
    let empty = Cluster { pods: vec![], ..settled(2, 2) };
    assert!(replaces_unconditionally(&empty));
    assert_eq!(cost(settled(8, 2), |c| c.pods.clear()), writes(0, 1, 3), "one does, the others go");
    assert_eq!(cost(settled(4, 2), |c| c.pods.truncate(2)), writes(0, 0, 1));
}

/// `k` slices and `n` endpoints: the new slices replace old ones, what remains on either side is created or deleted.
#[test]
fn a_change_of_ports_reuses_slices() {
    assert_eq!(cost(settled(6, 2), target_port(9)), writes(0, 3, 0));
    let mut loose = Cluster { max: 4, ..Cluster::with_pods(6) };
    (0..6).for_each(|number| drop(loose.place(number..number + 1)));
    assert_eq!(cost(loose, target_port(9)), writes(0, 2, 4));
    let mut ten = Cluster::with_pods(300);
    (0..10).for_each(|slice| drop(ten.place(slice * 30..slice * 30 + 30)));
    assert_eq!(cost(ten, target_port(9)), writes(0, 3, 7));
    let mut tight = Cluster { max: 2, ..Cluster::with_pods(6) };
    tight.place(0..6);
    assert_eq!(cost(tight, target_port(9)), writes(2, 1, 0));
}

#[test]
fn a_pod_with_other_ports_moves_to_their_group() {
    let mut cluster = Cluster { max: 4, ..Cluster::with_pods(3) };
    cluster.spec().ports = Some(vec![service_port("http", IntOrString::String("http".to_owned()))]);
    cluster.pods.iter_mut().for_each(|pod| pod.set_ports(&[("http", "TCP", 8080)]));
    cluster.sync();
    let ports = Some(container_ports(&[("http", "TCP", 8081)]));
    assert_eq!(cost(cluster, |c| c.pods[0].edit().1.containers[0].ports = ports), writes(1, 1, 0));
}

#[test]
fn a_service_label_costs_an_update_of_each_slice() {
    let label =
        |c: &mut Cluster| c.service.metadata.labels = Some([("team".to_owned(), "shop".to_owned())].into());
    assert_eq!(cost(settled(6, 2), label), writes(0, 3, 0));
    assert_eq!(cost(settled(0, 2), label), writes(0, 1, 0), "the placeholder too");
    let mut labelled = settled(0, 2);
    label(&mut labelled);
    assert!(replaces_unconditionally(&labelled));
}

#[test]
fn a_change_that_does_not_concern_slices_costs_nothing() {
    let annotate =
        |c: &mut Cluster| c.service.metadata.annotations = Some([("note".to_owned(), "x".to_owned())].into());
    assert_eq!(cost(settled(6, 2), annotate), NO_WRITES);
    assert_eq!(cost(settled(6, 2), |c| c.spec().session_affinity = Some("ClientIP".to_owned())), NO_WRITES);
    assert_eq!(cost(settled(6, 2), |c| c.pods.reverse()), NO_WRITES);
    assert_eq!(cost(settled(6, 2), |c| c.slices.reverse()), NO_WRITES);
    assert_eq!(cost(settled(6, 2), |c| c.trigger_time = None), NO_WRITES);
    assert_eq!(cost(settled(6, 2), |c| c.pods.push(pod(9).phase("Failed"))), NO_WRITES);
    assert_eq!(cost(settled(6, 2), |c| c.pods.push(pod(9).on_node("unknown"))), NO_WRITES);
}

#[test]
fn reserved_labels_and_the_cluster_ip_cost_nothing() {
    let reserved = |c: &mut Cluster| {
        let key = endpointslice::well_known::MANAGED_BY.to_owned();
        c.service.metadata.labels = Some([(key, "me".to_owned())].into());
    };
    assert_eq!(cost(settled(6, 2), reserved), NO_WRITES);
    assert_eq!(cost(settled(6, 2), |c| c.spec().cluster_ip = Some("None".to_owned())), NO_WRITES);
}

#[test]
fn a_recreated_service_costs_creates_and_deletes() {
    let recreate = |c: &mut Cluster| c.service.metadata.uid = Some("newer".to_owned());
    assert_eq!(cost(settled(6, 2), recreate), writes(3, 0, 3), "nothing of the older Service is reused");
}

#[test]
fn each_address_type_costs_its_own_writes() {
    let mut cluster = Cluster::with_pods(0);
    cluster.spec().ip_families = Some(vec!["IPv4".to_owned(), "IPv6".to_owned()]);
    cluster.sync();
    let add = |c: &mut Cluster| c.pods.push(pod(0).addresses(&["10.1.0.1", "fd00::1"]));
    assert_eq!(cost(cluster.clone(), add), writes(0, 2, 0), "one for each");
    let drop_one = |c: &mut Cluster| c.spec().ip_families = Some(vec!["IPv4".to_owned()]);
    assert_eq!(cost(cluster, drop_one), writes(0, 0, 1));
}
