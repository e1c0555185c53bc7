//! More addresses than one Endpoints object may hold.

use controller_harness::merged;
use endpoints_controller::{CAPACITY, truncate};
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset};
use serde_json::{Value, json};

use crate::objects::{pod, service, stored, sync};

fn addresses(count: usize) -> Option<Vec<EndpointAddress>> {
    let address = |number| EndpointAddress { ip: format!("10.0.0.{number}"), ..EndpointAddress::default() };
    (count > 0).then(|| (0..count).map(address).collect())
}

fn len(list: Option<&Vec<EndpointAddress>>) -> usize {
    list.map_or(0, Vec::len)
}

/// Truncates subsets with these numbers of ready and unready addresses, and returns the numbers that are left.
fn cut(counts: &[(usize, usize)]) -> (bool, Vec<(usize, usize)>) {
    let subset = |&(ready, not_ready): &(usize, usize)| EndpointSubset {
        addresses: addresses(ready),
        not_ready_addresses: addresses(not_ready),
        ports: None,
    };
    let mut subsets: Vec<EndpointSubset> = counts.iter().map(subset).collect();
    let truncated = truncate(&mut subsets);
    let left =
        |subset: &EndpointSubset| (len(subset.addresses.as_ref()), len(subset.not_ready_addresses.as_ref()));
    (truncated, subsets.iter().map(left).collect())
}

#[test]
fn subsets_shrink_in_proportion() {
    // Within the capacity.
    assert_eq!(cut(&[(200, 200), (200, 200), (100, 100)]), (false, vec![(200, 200), (200, 200), (100, 100)]));
    assert_eq!(cut(&[]), (false, vec![]));
    // Unready addresses are dropped first,
    let (truncated, left) = cut(&[(90, 101), (110, 200), (50, 200), (10, 201), (20, 298)]);
    assert!(truncated);
    assert_eq!(left, [(90, 73), (110, 144), (50, 144), (10, 145), (20, 214)]);
    // and all of them before any ready one.
    let (_, left) = cut(&[(205, 100), (400, 200), (402, 200), (400, 200), (693, 300)]);
    assert_eq!(left, [(98, 0), (191, 0), (192, 0), (191, 0), (328, 0)]);
    assert_eq!(cut(&[(1000, 10)]), (true, vec![(1000, 0)]));
}

/// Upstream writes such subsets, and the API server refuses the whole object at every retry.
#[test]
fn no_subset_is_left_without_addresses() {
    assert_eq!(cut(&[(600, 0), (600, 0), (1, 0)]).1, [(500, 0), (499, 0), (1, 0)]);
    assert_eq!(cut(&[(1001, 0), (0, 5)]).1, [(1000, 0)], "no capacity is left for unready addresses");
    assert_eq!(cut(&[(0, 700), (500, 700), (0, 1)]).1, [(0, 250), (500, 249), (0, 1)]);
    let many = vec![(1, 0); 1200];
    assert_eq!(cut(&many).1, vec![(1, 0); 1000]);
}

fn pods(ready: usize, not_ready: usize) -> Vec<Value> {
    let ip = |number: usize| format!("10.0.{}.{}", number / 250, number % 250);
    let all = 0..ready + not_ready;
    all.map(|number| pod(&format!("web-{number}"), &[&ip(number)], number < ready)).collect()
}

fn annotated(value: Option<&str>) -> Value {
    let annotations = match value {
        Some(value) => json!({"endpoints.kubernetes.io/over-capacity": value}),
        None => json!({}),
    };
    stored("web", json!([]), json!({"metadata": {"annotations": annotations}}))
}

/// The numbers of ready and unready addresses that are written, and the annotation.
fn written(ready: usize, not_ready: usize, before: Option<&str>) -> Option<(usize, usize, Option<String>)> {
    let written = sync(&service("web", json!({})), &pods(ready, not_ready), Some(&annotated(before)), None)?;
    let count = |list: &str| written["subsets"][0][list].as_array().map_or(0, Vec::len);
    let annotation = &written["metadata"]["annotations"]["endpoints.kubernetes.io/over-capacity"];
    Some((count("addresses"), count("notReadyAddresses"), annotation.as_str().map(ToOwned::to_owned)))
}

#[test]
fn the_annotation_says_whether_addresses_were_truncated() {
    let truncated = || Some("truncated".to_owned());
    for (before, (ready, not_ready), expected) in [
        (None, (3, 0), (3, 0, None)),
        (None, (CAPACITY - 3, 4), (CAPACITY - 3, 3, truncated())),
        (None, (CAPACITY, 10), (CAPACITY, 0, truncated())),
        (Some("truncated"), (CAPACITY - 1, 0), (CAPACITY - 1, 0, None)),
        (Some("warning"), (CAPACITY, 0), (CAPACITY, 0, None)),
        (Some("warning"), (CAPACITY + 1, 0), (CAPACITY, 0, truncated())),
        (Some("truncated"), (CAPACITY, 0), (CAPACITY, 0, None)),
        (Some("invalid"), (CAPACITY + 1, 0), (CAPACITY, 0, truncated())),
    ] {
        assert_eq!(written(ready, not_ready, before), Some(expected), "{before:?} {ready} {not_ready}");
    }
}

/// A wrong annotation alone causes a write.
#[test]
fn a_wrong_annotation_is_corrected() {
    let (service, pods) = (service("web", json!({})), pods(CAPACITY + 1, 0));
    let right = merged(stored("web", json!([]), json!({})), sync(&service, &pods, None, None).unwrap());
    assert_eq!(sync(&service, &pods, Some(&right), None), None);
    for wrong in [json!("warning"), json!("")] {
        let change = json!({"metadata": {"annotations": {"endpoints.kubernetes.io/over-capacity": wrong}}});
        let written = sync(&service, &pods, Some(&merged(right.clone(), change)), None).unwrap();
        assert_eq!(written, sync(&service, &pods, Some(&annotated(None)), None).unwrap(), "{wrong}");
    }
}

/// kubernetes#127370: upstream writes such objects at every sync.
#[test]
fn endpoints_that_are_truncated_already_cause_no_write() {
    // Two subsets whose order after truncation is no longer that of their hashes.
    let ports =
        json!([{"name": "a", "port": 80, "targetPort": "a"}, {"name": "b", "port": 81, "targetPort": 81}]);
    let service = service("web", json!({"spec": {"ports": ports}}));
    let mut pods = pods(1200, 30);
    for pod in pods.iter_mut().step_by(3) {
        let containers =
            json!([{"name": "c", "ports": [{"name": "a", "containerPort": 80, "protocol": "TCP"}]}]);
        *pod = merged(pod.take(), json!({"spec": {"containers": containers}}));
    }
    let written = sync(&service, &pods, None, Some("2026-01-01T00:00:00Z")).unwrap();
    let stored = merged(stored("web", json!([]), json!({})), written);
    assert_eq!(sync(&service, &pods, Some(&stored), None), None);
    let mut reordered = stored.clone();
    reordered["subsets"].as_array_mut().unwrap().reverse();
    assert_eq!(sync(&service, &pods, Some(&reordered), None), None);
    assert_ne!(sync(&service, &pods[1..], Some(&stored), None), None, "other addresses cause a write");
}
