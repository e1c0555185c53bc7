//! Properties that hold for any Endpoints and any existing slices.
use std::collections::BTreeSet;

use endpointslice::PortSet;
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME};
use endpointslice_mirroring_controller::Mirror;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::cluster::Cluster;

fn address() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        (1..6_u8).prop_map(|number| format!("10.0.0.{number}")),
        (1..6_u8).prop_map(|number| format!("010.0.0.0{number}")),
        (1..4_u8).prop_map(|number| format!("fd00::{number}")),
        Just("127.0.0.1".to_owned()),
        ".{0,6}",
    ];
    let target = proptest::option::of(
        (0..2_u8).prop_map(|number| json!({"name": format!("pod-{number}"), "uid": number.to_string()})),
    );
    (text, "(|a|b)", target)
        .prop_map(|(ip, hostname, target)| json!({"ip": ip, "hostname": hostname, "targetRef": target}))
}

fn port() -> impl Strategy<Value = Value> {
    let app_protocol = proptest::option::weighted(0.2, "(http|h2c)");
    ("(a|b)", 80..82_i32, app_protocol)
        .prop_map(|(name, port, protocol)| json!({"name": name, "port": port, "protocol": "TCP", "appProtocol": protocol}))
}

fn subsets() -> impl Strategy<Value = Value> {
    let addresses = || proptest::collection::vec(address(), 0..5);
    let subset = (addresses(), addresses(), proptest::collection::vec(port(), 0..3)).prop_map(
        |(ready, not_ready, ports)| json!({"addresses": ready, "notReadyAddresses": not_ready, "ports": ports}),
    );
    proptest::collection::vec(subset, 0..4).prop_map(|subsets| json!(subsets))
}

/// A foreign change of a slice.
fn edit(slice: &mut EndpointSlice, what: u8) {
    match what {
        0 => slice.endpoints = None,
        1 => slice.endpoints.iter_mut().for_each(|endpoints| endpoints.extend(endpoints.first().cloned())),
        2 => slice.metadata.labels = None,
        3 => slice.metadata.owner_references.as_mut().unwrap()[0].uid = "older".into(),
        4 => slice.address_type = "FQDN".into(),
        5 => slice.ports = None,
        6 => slice.metadata.annotations = Some([("more".to_owned(), String::new())].into()),
        _ => {}
    }
}

fn name(slice: &EndpointSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}

proptest! {
    /// [`Cluster::sync`] also asserts that planning again gives nothing.
    #[test]
    fn slices_converge_to_one_per_family_and_ports(
        before in subsets(),
        after in subsets(),
        labels in proptest::collection::btree_map(select(vec!["a", SERVICE_NAME, MANAGED_BY]), "(x|)", 0..3),
        edits in proptest::collection::vec(0..12_u8, 0..8),
        doubled in 0..3_usize,
        max in 1..6_usize,
    ) {
        let mut cluster = Cluster::new(before);
        cluster.max = max;
        cluster.sync();
        for number in 0..doubled.min(cluster.slices.len()) {
            let mut another = cluster.slices[number].clone();
            another.metadata.name = Some(format!("aaa-{number}"));
            cluster.slices.push(another);
        }
        for (slice, what) in cluster.slices.iter_mut().zip(edits) {
            edit(slice, what);
        }
        cluster.endpoints["subsets"] = after;
        cluster.endpoints["metadata"]["labels"] = json!(labels);

        let Mirror { plan, .. } = cluster.mirror();
        cluster.slices.reverse();
        prop_assert_eq!(&plan, &cluster.mirror().plan, "in any order of slices");
        let existing: BTreeSet<&str> = cluster.slices.iter().map(name).collect();
        let types = plan.types.iter();
        let touched = types.clone().flat_map(|plan| plan.update.iter().chain(&plan.delete)).chain(&plan.delete_if_unchanged);
        let touched: Vec<&str> = touched.map(name).collect();
        prop_assert_eq!(touched.iter().collect::<BTreeSet<_>>().len(), touched.len(), "one write for each slice");
        prop_assert!(touched.iter().all(|name| existing.contains(name)), "{:?}", touched);
        prop_assert!(types.flat_map(|plan| &plan.create).all(|slice| slice.metadata.name.is_none()));

        cluster.sync();
        let places = cluster.slices.iter().map(|slice| {
            let ports = PortSet::of(slice);
            (slice.address_type.clone(), ports)
        });
        prop_assert_eq!(places.collect::<BTreeSet<_>>().len(), cluster.slices.len());
        for slice in &cluster.slices {
            let count = slice.endpoints.as_ref().map_or(0, Vec::len);
            prop_assert!((1..=max).contains(&count), "{} endpoints", count);
        }
    }
}
