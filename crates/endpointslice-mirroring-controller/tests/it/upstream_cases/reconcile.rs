//! `TestReconcile`.

use endpointslice::well_known::{LAST_APPLIED_CONFIGURATION, LAST_CHANGE_TRIGGER_TIME};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Outcome, address, ports};

fn writes(created: usize, updated: usize, deleted: usize) -> (usize, usize, usize) {
    (created, updated, deleted)
}

impl Outcome {
    fn writes(&self) -> (usize, usize, usize) {
        (self.created, self.updated, self.deleted)
    }
}

/// Two subsets with two ports each: `first` and `second` are their addresses.
fn two_subsets(first: &[&str], second: &[&str]) -> Value {
    let addresses = |addresses: &[&str], from: usize| -> Vec<Value> {
        addresses.iter().enumerate().map(|(number, ip)| address(ip, from + number)).collect()
    };
    json!([
        {"addresses": addresses(first, 1), "ports": ports(80, 443)},
        {"addresses": addresses(second, 11), "ports": ports(3000, 3001)},
    ])
}

fn one_address() -> Value {
    json!([{"addresses": [address("10.0.0.1", 1)], "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}])
}

fn ready(addresses: &[&str]) -> Vec<(String, bool)> {
    addresses.iter().map(|address| ((*address).to_owned(), true)).collect()
}

#[test]
fn without_addresses_there_are_no_slices() {
    for subsets in [json!(null), json!([]), json!([{"ports": ports(80, 443)}])] {
        assert_eq!(Cluster::new(subsets).sync(), Outcome::default());
    }
}

#[test]
fn each_set_of_ports_has_its_own_slice() {
    let subset = |port: i32, ip: &str| json!({"addresses": [address(ip, 1)], "ports": [{"name": format!("port-{port}"), "port": port, "protocol": "TCP"}]});
    for (what, subsets, slices, endpoints) in [
        ("one of each", one_address(), 1, 1),
        ("another port and address", json!([subset(80, "10.0.0.1"), subset(81, "10.0.0.2")]), 2, 2),
        ("another port, the same address", json!([subset(80, "10.0.0.1"), subset(81, "10.0.0.1")]), 1, 1),
        ("another address, the same port", json!([subset(80, "10.0.0.1"), subset(80, "10.0.0.2")]), 1, 2),
        ("several", two_subsets(&["10.0.0.1", "10.0.0.2"], &["10.0.1.1", "10.0.1.2", "10.0.1.3"]), 2, 5),
    ] {
        let outcome = Cluster::new(subsets).sync();
        let gauges = [endpoints, slices, slices].map(|count| i64::try_from(count).unwrap());
        let figures = [endpoints, 0, 0, 0];
        assert_eq!(outcome, Outcome { created: slices, figures, gauges, ..Outcome::default() }, "{what}");
    }
}

#[test]
fn endpoints_being_deleted_get_no_new_slices() {
    let mut cluster = Cluster::new(one_address());
    cluster.endpoints["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(cluster.sync().writes(), writes(0, 0, 0));
}

#[test]
fn readiness_is_mirrored() {
    let (one, two) = (address("10.1.1.1", 11), address("10.1.1.2", 12));
    let (three, four) = (address("10.1.2.1", 1), address("10.1.2.2", 2));
    for (addresses, not_ready) in [
        (json!([one, two]), json!([])),
        (json!([]), json!([three, four])),
        (json!([one, two]), json!([three, four])),
    ] {
        let subset = json!({"addresses": addresses, "notReadyAddresses": not_ready, "ports": ports(80, 443)});
        let mut cluster = Cluster::new(json!([subset]));
        let outcome = cluster.sync();
        assert_eq!(outcome.writes(), writes(1, 0, 0));
        let named = |list: &Value, ready: bool| -> Vec<(String, bool)> {
            list.as_array().unwrap().iter().map(|it| (it["ip"].as_str().unwrap().to_owned(), ready)).collect()
        };
        let expected = [named(&addresses, true), named(&not_ready, false)].concat();
        assert_eq!(outcome.figures, [expected.len(), 0, 0, 0]);
        assert_eq!(cluster.addresses(), [expected]);
    }
}

#[test]
fn differences_that_cause_a_write() {
    type Edit = fn(&mut EndpointSlice);
    let cases: [(&str, usize, Edit); 8] = [
        ("nothing", 0, |_| ()),
        ("no owner", 0, |slice| slice.metadata.owner_references = None),
        ("another owner", 1, |slice| slice.metadata.owner_references.as_mut().unwrap()[0].uid = "old".into()),
        ("an owner of another kind", 0, |slice| {
            let owners = slice.metadata.owner_references.as_mut().unwrap();
            (owners[0].kind, owners[0].uid) = ("Service".into(), "old".into());
        }),
        ("an annotation", 1, |slice| {
            slice.metadata.annotations = Some([("foo".to_owned(), "bar".to_owned())].into());
        }),
        ("the last applied configuration", 1, |slice| {
            slice.metadata.annotations =
                Some([(LAST_APPLIED_CONFIGURATION.to_owned(), "{}".to_owned())].into());
        }),
        ("a label less", 1, |slice| drop(slice.metadata.labels.as_mut().unwrap().remove("team"))),
        ("a label more", 1, |slice| {
            slice.metadata.labels.as_mut().unwrap().insert("foo".into(), "bar".into());
        }),
    ];
    for (what, updated, edit) in cases {
        let mut cluster = Cluster::new(one_address());
        cluster.endpoints["metadata"]["labels"] = json!({"team": "a"});
        cluster.sync();
        let settled = cluster.slices[0].clone();
        edit(&mut cluster.slices[0]);
        assert_eq!(cluster.sync().writes(), writes(0, updated, 0), "{what}");
        if updated > 0 {
            let generate_name = settled.metadata.generate_name.clone();
            cluster.slices[0].metadata.generate_name = generate_name;
            assert_eq!(cluster.slices, [settled], "{what}: replaced as a whole");
        }
    }
}

#[test]
fn existing_slices_are_completed() {
    let subsets = two_subsets(&["10.0.0.1", "10.0.0.2"], &["10.0.1.1", "10.0.1.2", "10.0.1.3"]);
    let endpoint = |address: &str, number: usize| json!({"addresses": [address], "hostname": format!("pod-{number}"), "nodeName": format!("node-{number}"), "conditions": {"ready": true}});
    let bare = json!({"addresses": ["10.0.0.2"], "hostname": "pod-2"});
    let other = json!({"addresses": ["10.0.0.1", "10.0.0.3"], "hostname": "pod-1"});
    for (what, existing, expected, figures) in [
        ("empty", json!([]), writes(1, 1, 0), [5, 0, 0, 0]),
        ("some addresses", json!([bare, other]), writes(1, 1, 0), [4, 1, 1, 0]),
        (
            "identical",
            json!([endpoint("10.0.0.1", 1), endpoint("10.0.0.2", 2)]),
            writes(1, 0, 0),
            [3, 0, 0, 0],
        ),
    ] {
        let mut cluster = Cluster::new(subsets.clone());
        let existing = json!({
            "metadata": {"name": "test-ep-1", "namespace": "test"}, "addressType": "IPv4",
            "ports": ports(80, 443), "endpoints": existing,
        });
        cluster.slices = vec![serde_json::from_value(existing).unwrap()];
        let outcome = cluster.sync();
        assert_eq!(
            (outcome.writes(), outcome.figures, outcome.gauges),
            (expected, figures, [5, 2, 2]),
            "{what}"
        );
        let expected = [ready(&["10.0.0.1", "10.0.0.2"]), ready(&["10.0.1.1", "10.0.1.2", "10.0.1.3"])];
        assert_eq!(cluster.addresses(), expected, "{what}");
    }
}

#[test]
fn addresses_of_both_families_and_of_none() {
    for (what, first, second, slices, endpoints, skipped) in [
        (
            "both",
            ["2001:db8:2222:3333:4444:5555:6666:7777", "10.0.0.2"],
            ["10.0.1.1", "10.0.1.2", "2001:db8:3333::1"],
            4,
            5,
            0,
        ),
        ("IPv6", ["2001:db8::1", "2001:db8::2"], ["2001:db8::11", "2001:db8::12", "2001:db8::13"], 2, 5, 0),
        (
            "some invalid",
            ["2001:db8::1", "this-is-not-an-ip"],
            ["this-is-also-not-an-ip", "2001:db8::12", "2001:db8::13"],
            2,
            3,
            2,
        ),
        ("all invalid", ["not", "an"], ["ip", "address", "here"], 0, 0, 5),
    ] {
        let mut cluster = Cluster::new(two_subsets(&first, &second));
        assert_eq!(cluster.mirror().invalid, skipped, "{what}");
        let outcome = cluster.sync();
        let gauges = [endpoints, slices, slices].map(|count| i64::try_from(count).unwrap());
        let figures = [endpoints, 0, 0, skipped];
        assert_eq!(outcome, Outcome { created: slices, figures, gauges, ..Outcome::default() }, "{what}");
    }
}

#[test]
fn a_subset_is_cut_at_the_maximum() {
    let mut cluster =
        Cluster::new(two_subsets(&["10.0.0.1", "10.0.0.2"], &["10.0.1.1", "10.0.1.2", "10.0.1.3"]));
    cluster.max = 2;
    let outcome = cluster.sync();
    let expected = Outcome { created: 2, figures: [4, 0, 0, 1], gauges: [4, 2, 2], ..Outcome::default() };
    assert_eq!(outcome, expected);
    assert_eq!(cluster.addresses(), [ready(&["10.0.0.1", "10.0.0.2"]), ready(&["10.0.1.1", "10.0.1.2"])]);
}

#[test]
fn annotations_are_mirrored_except_two() {
    for (annotations, mirrored) in [
        (json!({LAST_APPLIED_CONFIGURATION: "{\"something\": true}"}), json!(null)),
        (json!(null), json!(null)),
        (json!({LAST_APPLIED_CONFIGURATION: ""}), json!(null)),
        (json!({"foo": "bar", LAST_APPLIED_CONFIGURATION: "{}"}), json!({"foo": "bar"})),
        (json!({"foo": "bar", LAST_CHANGE_TRIGGER_TIME: "2026-01-01T00:00:00Z"}), json!({"foo": "bar"})),
    ] {
        let mut cluster = Cluster::new(one_address());
        cluster.endpoints["metadata"]["annotations"] = annotations;
        assert_eq!(cluster.sync().writes(), writes(1, 0, 0));
        assert_eq!(json!(cluster.slices[0].metadata.annotations), mirrored);
    }
}

/// Upstream counts the duplicate as another desired endpoint, and overlooks the missing one.
#[test]
fn a_duplicate_endpoint_does_not_hide_a_missing_one() {
    let mut cluster = Cluster::new(
        json!([{"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": ports(80, 443)}]),
    );
    cluster.sync();
    let endpoints = cluster.slices[0].endpoints.as_mut().unwrap();
    endpoints[1] = endpoints[0].clone();
    assert_eq!(cluster.sync().writes(), writes(0, 1, 0));
    assert_eq!(cluster.addresses(), [ready(&["10.0.0.1", "10.0.0.2"])]);
}

/// The duplicate is deleted; the slice that stays has its endpoints.
#[test]
fn duplicate_slices_for_one_set_of_ports_are_deleted() {
    let mut cluster = Cluster::new(one_address());
    cluster.sync();
    let mut another = cluster.slices[0].clone();
    another.metadata.name = Some("test-ep-999".into());
    cluster.slices.insert(0, another);
    let outcome = cluster.sync();
    assert_eq!((outcome.writes(), outcome.figures), (writes(0, 0, 1), [0; 4]));
    assert_eq!(cluster.slices[0].metadata.name.as_deref(), Some("test-ep-100"), "the first by name");
}
