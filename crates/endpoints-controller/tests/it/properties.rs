//! Properties that hold for any input.

use crate::objects::{pod, service, stored, sync};
use controller_harness::merged;
use endpoints_controller::{CAPACITY, truncate};
use endpointslice::endpoints::repack_subsets;
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, ObjectReference};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn any_address() -> impl Strategy<Value = EndpointAddress> {
    let target = option::of(select(vec!["", "u1", "u2"]));
    (select(vec!["10.0.0.9", "10.0.0.10", "10.0.0.1", "fd00::1"]), target).prop_map(|(ip, uid)| {
        EndpointAddress {
            ip: ip.to_owned(),
            target_ref: uid
                .map(|uid| ObjectReference { uid: Some(uid.to_owned()), ..ObjectReference::default() }),
            ..EndpointAddress::default()
        }
    })
}

fn any_port() -> impl Strategy<Value = EndpointPort> {
    let app_protocol = option::of(select(vec!["http", "grpc"]));
    (1..4, select(vec!["TCP", "UDP"]), app_protocol).prop_map(|(port, protocol, app_protocol)| EndpointPort {
        port,
        protocol: Some(protocol.to_owned()),
        app_protocol: app_protocol.map(ToOwned::to_owned),
        name: None,
    })
}

fn any_subsets() -> impl Strategy<Value = Vec<EndpointSubset>> {
    let lists = (vec(any_address(), 0..5), vec(any_address(), 0..3), vec(any_port(), 0..4));
    let subset = lists.prop_map(|(ready, not_ready, ports)| EndpointSubset {
        addresses: Some(ready),
        not_ready_addresses: Some(not_ready),
        ports: Some(ports),
    });
    vec(subset, 0..5)
}

/// Few subsets with many addresses: the number of ready and unready addresses of each.
fn over_capacity() -> impl Strategy<Value = Vec<(usize, usize)>> {
    let count = prop_oneof![Just(0_usize), 1..4_usize, 1..1500_usize];
    vec((count.clone(), count), 0..8)
}

fn of_counts(counts: &[(usize, usize)]) -> Vec<EndpointSubset> {
    let list = |count: usize| Some(vec![EndpointAddress::default(); count]);
    let subset = |&(ready, not_ready): &(usize, usize)| EndpointSubset {
        addresses: list(ready),
        not_ready_addresses: list(not_ready),
        ports: None,
    };
    counts.iter().filter(|(ready, not_ready)| ready + not_ready > 0).map(subset).collect()
}

fn counts(subsets: &[EndpointSubset]) -> Vec<(usize, usize)> {
    let len = |list: &Option<Vec<_>>| list.as_ref().map_or(0, Vec::len);
    subsets.iter().map(|subset| (len(&subset.addresses), len(&subset.not_ready_addresses))).collect()
}

fn any_pods() -> impl Strategy<Value = Vec<Value>> {
    let one = (1..30_u8, any::<bool>(), select(vec!["a", "b", "c"]), 1..3_u16);
    vec(one, 0..12).prop_map(|pods| {
        let made = pods.into_iter().enumerate().map(|(number, (ip, ready, name, port))| {
            let pod = pod(&format!("web-{number}"), &[&format!("10.0.0.{ip}")], ready);
            let ports = json!([{"name": name, "containerPort": port, "protocol": "TCP"}]);
            merged(pod, json!({"spec": {"containers": [{"name": "c", "ports": ports}]}}))
        });
        made.collect()
    })
}

fn any_service() -> impl Strategy<Value = Value> {
    let ports = vec(select(vec![json!("a"), json!("b"), json!(8080), json!(9090)]), 0..4);
    let labels = vec(
        select(vec!["a", "b", "service.kubernetes.io/headless", "endpoints.kubernetes.io/managed-by"]),
        0..3,
    );
    (ports, labels, select(vec!["10.96.0.1", "None", ""]), any::<bool>()).prop_map(|(targets, labels, ip, grpc)| {
        let app_protocol = grpc.then_some("grpc");
        let port = |(number, target): (usize, Value)| {
            json!({"name": format!("p{number}"), "port": 80, "protocol": "TCP", "targetPort": target, "appProtocol": app_protocol})
        };
        let ports: Vec<Value> = targets.into_iter().enumerate().map(port).collect();
        let labels: serde_json::Map<String, Value> = labels.into_iter().map(|key| (key.to_owned(), json!("x"))).collect();
        service("web", json!({"metadata": {"labels": labels}, "spec": {"ports": ports, "clusterIP": ip}}))
    })
}

proptest! {
    #[test]
    fn the_canonical_form_is_canonical(subsets in any_subsets()) {
        let packed = repack_subsets(&subsets);
        prop_assert_eq!(&repack_subsets(&packed), &packed);
        prop_assert!(packed.iter().all(|subset| subset.addresses.is_some() || subset.not_ready_addresses.is_some()));
    }

    #[test]
    fn truncation_keeps_to_the_limit_and_leaves_no_subset_empty(given in over_capacity()) {
        let mut subsets = of_counts(&given);
        let before = counts(&subsets);
        let total = |counts: &[(usize, usize)]| counts.iter().map(|(ready, not_ready)| ready + not_ready).sum::<usize>();
        let ready = |counts: &[(usize, usize)]| counts.iter().map(|(ready, _)| ready).sum::<usize>();
        let truncated = truncate(&mut subsets);
        let after = counts(&subsets);
        prop_assert_eq!(truncated, total(&before) > CAPACITY);
        prop_assert_eq!(total(&after), total(&before).min(CAPACITY), "the capacity is used");
        prop_assert_eq!(ready(&after), ready(&before).min(CAPACITY), "ready addresses come first");
        prop_assert!(after.iter().all(|(ready, not_ready)| ready + not_ready > 0));
        prop_assert!(!truncate(&mut subsets), "truncating again changes nothing");
        let kept_ready = before.iter().filter(|(ready, _)| *ready > 0).count();
        prop_assert_eq!(after.iter().filter(|(ready, _)| *ready > 0).count(), kept_ready);
    }

    #[test]
    fn a_plan_that_is_applied_leaves_nothing_to_do(service in any_service(), pods in any_pods(), before in any_subsets(), has_object: bool) {
        let before = stored("web", json!(before), json!({}));
        let before = has_object.then_some(&before);
        let written = sync(&service, &pods, before, Some("2026-01-01T00:00:00Z"));
        let mut reversed = pods.clone();
        reversed.reverse();
        prop_assert_eq!(&sync(&service, &reversed, before, Some("2026-01-01T00:00:00Z")), &written, "in any order");
        if let Some(written) = written {
            let identity = stored("web", json!([]), json!({"metadata": {"labels": null}}));
            let stored = json!({"metadata": merged(identity["metadata"].clone(), written["metadata"].clone()),
                "subsets": written["subsets"]});
            prop_assert_eq!(sync(&service, &pods, Some(&stored), None), None);
        }
    }
}
