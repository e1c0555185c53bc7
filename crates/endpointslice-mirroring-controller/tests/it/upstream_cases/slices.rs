//! The content of slices, and the slices that are recycled.

use endpointslice::AddressType;
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::cluster::{Cluster, ports};

#[test]
fn a_new_slice() {
    let trigger_time = LAST_CHANGE_TRIGGER_TIME;
    for (metadata, labels, annotations) in [
        (json!({}), json!({}), json!(null)),
        (json!({"annotations": {"foo": "bar"}}), json!({}), json!({"foo": "bar"})),
        (json!({"labels": {"foo": "bar"}}), json!({"foo": "bar"}), json!(null)),
        (
            json!({"labels": {"foo": "bar"}, "annotations": {"foo2": "bar2"}}),
            json!({"foo": "bar"}),
            json!({"foo2": "bar2"}),
        ),
        (
            json!({"labels": {"foo": "bar"}, "annotations": {"foo2": "bar2", trigger_time: "t"}}),
            json!({"foo": "bar"}),
            json!({"foo2": "bar2"}),
        ),
    ] {
        let mut cluster = Cluster::new(json!([{"addresses": [{"ip": "10.0.0.1"}], "ports": ports(80, 443)}]));
        cluster.endpoints["metadata"] =
            controller_harness::merged(cluster.endpoints["metadata"].take(), metadata);
        let plan = cluster.mirror().plan;
        let [slice] = &plan.types[0].create[..] else { panic!("{plan:#?}") };
        let mut expected = json!({
            "generateName": "test-ep-", "namespace": "test",
            "labels": {
                "kubernetes.io/service-name": "test-ep",
                "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
            },
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Endpoints", "name": "test-ep", "uid": "endpoints-uid",
                "controller": true, "blockOwnerDeletion": true,
            }],
        });
        expected = controller_harness::merged(expected, json!({"labels": labels}));
        if !annotations.is_null() {
            expected["annotations"] = annotations;
        }
        assert_eq!(json!(slice.metadata), expected);
        assert_eq!(slice.address_type, "IPv4");
        let mut written = json!(slice.ports);
        written.as_array_mut().unwrap().sort_by_key(|port| port["port"].as_u64());
        assert_eq!(written, ports(80, 443));
    }
}

#[test]
fn an_address_as_an_endpoint() {
    let target = json!({"kind": "Pod", "namespace": "default", "name": "foo", "uid": "u", "apiVersion": "v1",
        "resourceVersion": "7", "fieldPath": "spec"});
    let address = json!({"ip": "10.1.2.3", "hostname": "foo", "nodeName": "node-abc", "targetRef": target});
    let cluster = Cluster::new(json!([{"addresses": [address], "ports": ports(80, 443)}]));
    let plan = cluster.mirror().plan;
    let expected = json!([{
        "addresses": ["10.1.2.3"], "hostname": "foo", "conditions": {"ready": true}, "targetRef": target,
        "nodeName": "node-abc",
    }]);
    assert_eq!(json!(plan.types[0].create[0].endpoints), expected);
}

/// Slices with ports that are no longer desired get new content.
#[test]
fn slices_with_obsolete_ports_are_recycled() {
    let of = |ip: &str, port: usize| json!({"addresses": [{"ip": ip}], "ports": [{"name": "p", "port": port, "protocol": "TCP"}]});
    let (four, six) = (|number: usize| format!("10.0.0.{number}"), |number: usize| format!("fd00::{number}"));
    // New groups of IPv4 and IPv6, old slices of each, then creates, updates and deletes.
    for (new, old, expected) in [
        ([0, 0], [0, 0], [0, 0, 0]),
        ([1, 0], [1, 0], [0, 1, 0]),
        ([2, 0], [1, 0], [1, 1, 0]),
        ([1, 0], [2, 0], [0, 1, 1]),
        ([1, 1], [1, 1], [0, 2, 0]),
        ([1, 0], [0, 1], [1, 0, 1]),
    ] {
        let subsets = |[v4, v6]: [usize; 2], base: usize| -> Value {
            let v4 = (1..=v4).map(|number| of(&four(base + number), base + number));
            let v6 = (1..=v6).map(|number| of(&six(base + number), base + 50 + number));
            v4.chain(v6).collect()
        };
        let mut cluster = Cluster::new(subsets(old, 100));
        cluster.sync();
        cluster.endpoints["subsets"] = subsets(new, 0);
        let plan = cluster.mirror().plan;
        for plan in &plan.types {
            let named = |slice: &&EndpointSlice| slice.metadata.name.is_some();
            assert_eq!(plan.create.iter().filter(named).count(), 0, "no create has a name");
            assert!(plan.update.iter().all(|slice| slice.metadata.generate_name.is_none()));
            assert!(
                plan.update
                    .iter()
                    .all(|slice| AddressType::parse(&slice.address_type) == Some(plan.address_type))
            );
        }
        let outcome = cluster.sync();
        assert_eq!([outcome.created, outcome.updated, outcome.deleted], expected, "{new:?} {old:?}");
    }
    // A changed slice that stays doesn't keep another from being recycled.
    let mut cluster = Cluster::new(json!([of("10.0.0.1", 1), of("10.0.0.2", 2)]));
    cluster.sync();
    cluster.endpoints["subsets"] = json!([of("10.0.0.3", 1), of("10.0.0.2", 3)]);
    let outcome = cluster.sync();
    assert_eq!([outcome.created, outcome.updated, outcome.deleted], [0, 2, 0]);
}
