//! The Services that the change of a pod affects: counterparts of upstream's `TestDetermineNeededServiceUpdates` and
//! `TestGetPodServicesToUpdate` (`k8s.io/endpointslice` `util/controller_utils_test.go`).

use std::collections::BTreeSet;

use endpointslice::model::NodeFields;

use super::*;

/// Services `a` to `f`, each of which selects pods with a label of its name, in two namespaces; and one without
/// selector.
fn cache() -> Cache {
    let cache = Cache::default();
    for namespace in ["green", "red"] {
        for name in NAMES {
            let selector = vec![(name, "yes")];
            cache.upsert(service(ServiceFields { namespace, name, selector, ..ServiceFields::default() }));
        }
    }
    cache.upsert(service(ServiceFields { namespace: "green", name: "manual", ..ServiceFields::default() }));
    cache
}

fn service(fields: ServiceFields<'_>) -> Service {
    Service::new(fields, &mut Interner::default())
}

/// A pod that is selected by the Services named by the letters, with an address.
fn pod(selected_by: &str, address: &str) -> Arc<Pod> {
    let labels = selected_by.split_terminator("").skip(1).map(|name| (name, "yes")).collect();
    let fields = PodFields {
        namespace: "green",
        name: "pod",
        labels,
        addresses: vec![address],
        ..PodFields::default()
    };
    Arc::new(Pod::new(fields, &mut Interner::default()))
}

/// The letters of the Services concerned, all in the pod's namespace.
fn concerned(cache: &Cache, change: &Change<Pod>) -> String {
    let keys: BTreeSet<ObjectKey> =
        cache.read(|state| state.services_affected_by_pod(change)).into_iter().collect();
    assert!(keys.iter().all(|key| &*key.namespace == "green"));
    keys.iter().map(|key| &*key.name).collect()
}

#[test]
fn a_relabelled_pod_affects_services_it_leaves_and_joins_and_a_changed_one_all() {
    let cache = cache();
    for (before, after, left_or_joined, either) in [
        ("abc", "abc", "", "abc"),
        ("abc", "def", "abcdef", "abcdef"),
        ("abc", "", "abc", "abc"),
        ("", "abc", "abc", "abc"),
        ("abc", "bcd", "ad", "abcd"),
        ("", "", "", ""),
    ] {
        let old = pod(before, "10.0.0.1");
        for (address, expected) in [("10.0.0.1", left_or_joined), ("10.0.0.2", either)] {
            let change = Change::Updated { old: Arc::clone(&old), new: pod(after, address) };
            assert_eq!(concerned(&cache, &change), expected, "{before} to {after}, {address}");
        }
    }
}

#[test]
fn an_added_or_deleted_pod_affects_services_that_select_it() {
    let cache = cache();
    for selected_by in ["a", "b", "cf", "", "xyz", "bx"] {
        let expected = selected_by.replace(['x', 'y', 'z'], "");
        let pod = pod(selected_by, "10.0.0.1");
        assert_eq!(concerned(&cache, &Change::Added(Arc::clone(&pod))), expected);
        assert_eq!(concerned(&cache, &Change::Deleted { last: pod, at: None }), expected);
    }
}

#[test]
fn an_added_node_or_a_new_zone_affects_the_services_of_its_pods() {
    let cache = cache();
    let fields = PodFields {
        namespace: "green",
        name: "pod",
        labels: vec![("a", "yes"), ("c", "yes")],
        node_name: "n1",
        ..PodFields::default()
    };
    cache.upsert(Pod::new(fields, &mut Interner::default()));
    let node = |name, zone, ready| {
        let labels = vec![("topology.kubernetes.io/zone", zone)];
        let fields = NodeFields { name, labels, ready, ..NodeFields::default() };
        Arc::new(Node::new(&fields, &mut Interner::default()))
    };
    let concerned = |change: &Change<Node>| {
        let mut keys = cache.read(|state| state.services_affected_by_node(change));
        keys.sort();
        keys.iter().map(|key| &*key.name).collect::<String>()
    };
    let updated = |new| Change::Updated { old: node("n1", "x", true), new };
    for (change, expected) in [
        (Change::Added(node("n1", "x", true)), "ac"),
        (Change::Added(node("n2", "x", true)), ""),
        (updated(node("n1", "y", true)), "ac"),
        (updated(node("n1", "x", false)), ""),
        (Change::Deleted { last: node("n1", "x", true), at: None }, ""),
    ] {
        assert_eq!(concerned(&change), expected, "{change:?}");
    }
}

/// Else the time of the mark would date the next change, however late it is.
#[test]
fn a_mark_that_is_overruled_affects_the_services_of_the_pod() {
    let old = pod("abc", "10.0.0.1");
    let mut new = Pod::clone(&old);
    new.marked_not_ready = true;
    assert_eq!(concerned(&cache(), &Change::Updated { old, new: Arc::new(new) }), "abc");
}
