//! Mirroring on a real API server: the cases that upstream tests for its own controller in
//! `test/integration/endpointslice/endpointslicemirroring_test.go` and `test/e2e/network/endpointslicemirroring.go`,
//! and the events for users.
//!
//! Upstream waits until the expected state is reached. These tests also check that it then stays, and that no
//! superfluous write was made.

mod events;
mod fixture;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Endpoints;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use tests::manager::{Controller, Kind, ManagerOptions};

use self::fixture::{Fixture, NAME, Place, addresses};

const MIRRORING: &[Controller] = &[Controller::EndpointSliceMirroring];
const OF_PODS: &str = "endpointslice-controller.k8s.io";
const MIRRORED: &str = "endpointslicemirroring-controller.k8s.io";

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// One subset with these addresses and port 80.
fn subset(ips: &[&str]) -> Value {
    named_subset(ips, None, 80)
}

fn named_subset(ips: &[&str], name: Option<&str>, port: u16) -> Value {
    let addresses: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
    json!({"addresses": addresses, "ports": [{"name": name, "port": port}]})
}

/// A Service to create.
#[derive(PartialEq)]
enum Service {
    Selecting,
    WithoutSelector,
    Missing,
}

/// `TestEndpointSliceMirroring`: the Service, subsets of custom Endpoints if there are any, and the manager of the
/// slices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_service_has_the_slices_of_one_controller() {
    let fixture = Fixture::start(Kind::Ours, ManagerOptions::of(Controller::ALL)).await;
    let one = || subset(&["10.0.0.1"]);
    let port1 = || named_subset(&["10.0.0.1"], Some("port1"), 80);
    let port2 = |ip| named_subset(&[ip], Some("port2"), 90);
    let cases: [(&str, Service, Option<Value>, &[&str]); 6] = [
        ("selector", Service::Selecting, None, &[OF_PODS]),
        ("no-selector", Service::WithoutSelector, Some(json!([one()])), &[MIRRORED]),
        ("same-address", Service::WithoutSelector, Some(json!([port1(), port2("10.0.0.1")])), &[MIRRORED]),
        (
            "subsets",
            Service::WithoutSelector,
            Some(json!([port1(), port2("10.0.0.2")])),
            &[MIRRORED, MIRRORED],
        ),
        ("no-endpoints", Service::Selecting, None, &[OF_PODS]),
        ("no-service", Service::Missing, Some(json!([one()])), &[]),
    ];
    let mark = fixture.mark();
    for (name, service, subsets, _) in &cases {
        let place = fixture.place(name).await;
        if *service != Service::Missing {
            let selector = (*service == Service::Selecting).then(|| json!({"foo": "bar"}));
            place.create_service(selector.as_ref()).await;
        }
        if let Some(subsets) = subsets {
            place.create_endpoints(subsets).await;
        }
    }
    fixture.settle().await;
    for (name, _, _, expected) in cases {
        let managers: Vec<String> =
            fixture.existing(name).slices().await.iter().map(fixture::manager).collect();
        assert_eq!(managers, expected, "{name}");
        // No other slices came and went meanwhile.
        let writes = fixture.writes_of_slices(mark, name);
        let verbs: Vec<&str> = writes.iter().map(|write| write.verb.as_str()).collect();
        assert_eq!(verbs, vec!["create"; expected.len()], "{name}: {writes:#?}");
    }
}

/// `TestEndpointSliceMirroringUpdates`. As there, the change follows the creation at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_endpoints_is_mirrored() {
    let fixture = Fixture::start(Kind::Ours, ManagerOptions::of(MIRRORING)).await;
    let cases: [(&str, fn(&mut Endpoints)); 4] = [
        ("labels", |endpoints| {
            endpoints.labels_mut().insert("foo".to_owned(), "bar".to_owned());
        }),
        ("annotations", |endpoints| {
            endpoints.annotations_mut().insert("foo2".to_owned(), "bar2".to_owned());
        }),
        ("trigger-time", |endpoints| {
            let annotations = endpoints.annotations_mut();
            annotations.insert("foo2".to_owned(), "bar2".to_owned());
            annotations.insert(TRIGGER_TIME.to_owned(), "date".to_owned());
        }),
        ("addresses", |endpoints| {
            let subsets = json!([subset(&["1.2.3.4", "1.2.3.6"])]);
            endpoints.subsets = serde_json::from_value(subsets).unwrap();
        }),
    ];
    for (name, change) in cases {
        let place = fixture.place(name).await;
        place.create_service(None).await;
        let mut endpoints = place.create_endpoints(&json!([subset(&["10.0.0.1"])])).await;
        change(&mut endpoints);
        place.replace_endpoints(&endpoints).await;
        fixture.settle().await;
        is_mirrored(&place, &endpoints).await;

        // Endpoints that are not mirrored cause no write.
        let mark = fixture.mark();
        endpoints.annotations_mut().insert(TRIGGER_TIME.to_owned(), "another date".to_owned());
        place.replace_endpoints(&endpoints).await;
        fixture.settle().await;
        let writes = fixture.writes_of_slices(mark, name);
        assert!(writes.is_empty(), "{name}: {writes:#?}");
    }
}

/// Checks that there is one slice, with the addresses, labels and annotations of these Endpoints, and no other.
async fn is_mirrored(place: &Place, endpoints: &Endpoints) {
    let slices = place.slices().await;
    let [slice] = slices.as_slice() else { panic!("one slice, not {slices:#?}") };
    let ready = endpoints.subsets.iter().flatten().flat_map(|subset| subset.addresses.iter().flatten());
    assert_eq!(addresses(slice), ready.map(|address| address.ip.clone()).collect::<Vec<_>>());
    let mut labels = endpoints.labels().clone();
    labels.insert("kubernetes.io/service-name".to_owned(), NAME.to_owned());
    labels.insert("endpointslice.kubernetes.io/managed-by".to_owned(), MIRRORED.to_owned());
    assert_eq!(*slice.labels(), labels);
    let mut annotations = endpoints.annotations().clone();
    annotations.remove(TRIGGER_TIME);
    assert_eq!(*slice.annotations(), annotations);
}

/// `TestEndpointSliceMirroringSelectorTransition`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selector_comes_and_goes() {
    let fixture = Fixture::start(Kind::Ours, ManagerOptions::of(MIRRORING)).await;
    let (set, empty) = (|| Some(json!({"foo": "bar"})), || Some(json!({})));
    let cases: [(&str, Option<Value>, usize, Option<Value>, usize); 4] = [
        ("nil-to-set", None, 1, set(), 0),
        ("set-to-nil", set(), 0, None, 1),
        ("empty-to-set", empty(), 1, set(), 0),
        ("set-to-empty", set(), 0, empty(), 1),
    ];
    for (name, before, slices_before, after, slices_after) in cases {
        let place = fixture.place(name).await;
        let mark = fixture.mark();
        place.create_service(before.as_ref()).await;
        place.create_endpoints(&json!([subset(&["10.0.0.1"])])).await;
        fixture.settle().await;
        assert_eq!(place.slices().await.len(), slices_before, "{name}, before");
        place.set_selector(after.as_ref()).await;
        fixture.settle().await;
        assert_eq!(place.slices().await.len(), slices_after, "{name}, after");
        // One slice is created, and deleted if that came first.
        let writes = fixture.writes_of_slices(mark, name);
        assert_eq!(writes.len(), 1 + slices_before, "{name}: {writes:#?}");
    }
}

/// The conformance test "should mirror a custom Endpoints resource through create update and delete".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn custom_endpoints_are_created_updated_and_deleted() {
    let fixture = Fixture::start(Kind::Ours, ManagerOptions::of(Controller::ALL)).await;
    let place = fixture.place("life").await;
    let mark = fixture.mark();
    place.create_service(None).await;
    let mut endpoints = place.create_endpoints(&json!([subset(&["10.1.2.3"])])).await;
    fixture.settle().await;
    is_mirrored(&place, &endpoints).await;
    let created = place.slices().await;
    let ports = created.first().and_then(|slice| slice.ports.clone()).unwrap_or_default();
    assert_eq!(ports.iter().map(|port| port.port).collect::<Vec<_>>(), [Some(80)]);

    endpoints.subsets = serde_json::from_value(json!([subset(&["10.2.3.4"])])).unwrap();
    place.replace_endpoints(&endpoints).await;
    fixture.settle().await;
    is_mirrored(&place, &endpoints).await;
    assert_eq!(place.slices().await[0].uid(), created[0].uid(), "the same slice");

    place.delete_endpoints().await;
    fixture.settle().await;
    assert_eq!(place.slices().await, []);
    let verbs: Vec<String> =
        fixture.writes_of_slices(mark, "life").into_iter().map(|write| write.verb).collect();
    assert_eq!(verbs, ["create", "update", "delete"]);
}

/// The conformance test "should test the lifecycle of an Endpoint": without a Service there is nothing to mirror.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_without_a_service_are_left_alone() {
    let fixture = Fixture::start(Kind::Ours, ManagerOptions::of(Controller::ALL)).await;
    let place = fixture.place("life").await;
    let mark = fixture.mark();
    let mut endpoints = place.create_endpoints(&json!([subset(&["10.0.0.24"])])).await;
    endpoints.metadata.labels = Some(BTreeMap::from([("test".to_owned(), "updated".to_owned())]));
    place.replace_endpoints(&endpoints).await;
    fixture.settle().await;
    place.delete_endpoints().await;
    fixture.settle().await;
    let writes = fixture.writes_of_slices(mark, "life");
    assert!(writes.is_empty(), "{writes:#?}");
}
