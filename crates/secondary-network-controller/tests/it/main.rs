//! The controller on an API server in memory, with a clock that only advances when there is nothing to do.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking; objects are made to be given away"
)]

use controller_harness::{NAMESPACE, Running, TestApi, merged};
use endpoint_informers::cache::CachedResource;
use endpoint_informers::reconciler::{Reconciler, SliceReconciler as _};
use endpointslice::well_known::{ENDPOINT_CONTROLLER_NAME, MANAGED_BY};
use endpointslice::{Interner, Node, Pod, Service};
use secondary_network_controller::{NAME, NETWORK, NETWORK_STATUS, SecondaryNetwork};
use serde_json::{Value, json};

fn upsert<K: CachedResource>(api: &TestApi, object: Value) {
    let mut interner = Interner::keeping_annotations(SecondaryNetwork::ANNOTATIONS.iter().copied());
    api.upsert_object(K::from_json(&object.to_string(), &mut interner).unwrap());
}

/// Service `db`, which is published in network `storage` in both families, with `changes` merged in.
fn service(version: u32, changes: Value) -> Value {
    let object = json!({
        "metadata": {"name": "db", "namespace": NAMESPACE, "uid": "uid-db", "resourceVersion": version.to_string(),
            "labels": {ENDPOINT_CONTROLLER_NAME: NAME}, "annotations": {NETWORK: "storage"}},
        "spec": {"clusterIP": "10.96.0.1", "ipFamilies": ["IPv4", "IPv6"], "selector": {"app": "db"},
            "ports": [{"name": "sql", "port": 5432, "targetPort": "sql"}]},
    });
    merged(object, changes)
}

/// The network status of a pod; `number` is the last part of its addresses.
fn status(number: u8) -> String {
    json!([
        {"name": "cbr0", "interface": "eth0", "ips": [format!("10.1.0.{number}")], "default": true},
        {"name": "default/storage", "interface": "net1", "ips": [format!("192.168.7.{number}"), format!("fd00:7::{number}")]},
    ])
    .to_string()
}

/// A pod of `db` with this network status.
fn pod(name: &str, version: u32, network_status: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string(), "labels": {"app": "db"},
            "annotations": {NETWORK_STATUS: network_status}},
        "spec": {"nodeName": "node-1", "containers": [{"name": "main", "ports": [{"name": "sql", "containerPort": 15432}]}]},
        "status": {"phase": "Running", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}],
            "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn run(api: &TestApi) -> Running {
    api.run(|cache, client, _, _| Reconciler::new(SecondaryNetwork, cache, client))
}

/// `db` with pods `db-1` and `db-2`.
fn fill(api: &TestApi) {
    upsert::<Node>(
        api,
        json!({"metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "a"}}}),
    );
    upsert::<Service>(api, service(1, json!({})));
    for number in [1, 2] {
        upsert::<Pod>(api, pod(&format!("db-{number}"), 1, &status(number)));
    }
}

/// Starts the controller, and waits until `db` is published.
async fn start() -> TestApi {
    let api = TestApi::default();
    fill(&api);
    run(&api);
    api.settle().await;
    api
}

const BOTH: [&str; 4] = ["192.168.7.1", "192.168.7.2", "fd00:7::1", "fd00:7::2"];

#[tokio::test(start_paused = true)]
async fn pods_are_published_with_their_addresses_in_the_network() {
    let api = start().await;
    assert_eq!(api.addresses("db"), BOTH);
    assert_eq!(api.requests().len(), 2, "one slice for each family");
    for slice in api.slices("db") {
        assert_eq!(slice.metadata.labels.as_ref().unwrap()[MANAGED_BY], NAME);
        let port = &slice.ports.as_ref().unwrap()[0];
        assert_eq!((port.name.as_deref(), port.port), (Some("sql"), Some(15432)));
        for endpoint in slice.endpoints.unwrap() {
            assert_eq!(
                (endpoint.zone.as_deref(), endpoint.conditions.unwrap().ready),
                (Some("a"), Some(true))
            );
        }
    }
}

/// The watch broke before the deletion events.
#[tokio::test(start_paused = true)]
async fn slices_that_only_a_relist_shows_deleted_are_created_again() {
    let api = TestApi::default();
    fill(&api);
    api.break_watch();
    run(&api);
    api.settle().await;
    (0..2).for_each(|_| drop(api.delete_slice_without_event("db")));
    api.relist();
    api.settle().await;
    assert_eq!(api.addresses("db"), BOTH);
}

#[tokio::test(start_paused = true)]
async fn endpoints_follow_the_annotation_of_their_pod() {
    let api = start().await;
    api.forget_requests();
    upsert::<Pod>(&api, pod("db-2", 2, &status(3)));
    api.settle().await;
    assert_eq!(api.addresses("db"), ["192.168.7.1", "192.168.7.3", "fd00:7::1", "fd00:7::3"]);
    assert_eq!(api.requests().len(), 2, "one update for each family: {:?}", api.requests());
    upsert::<Pod>(&api, pod("db-2", 3, "[]"));
    api.settle().await;
    assert_eq!(api.addresses("db"), ["192.168.7.1", "fd00:7::1"]);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_annotation_skips_that_pod_and_blocks_nothing() {
    let api = start().await;
    upsert::<Pod>(&api, pod("db-3", 1, "net1: 192.168.7.3"));
    upsert::<Pod>(&api, pod("db-4", 1, &status(4)));
    api.settle().await;
    let published = ["192.168.7.1", "192.168.7.2", "192.168.7.4", "fd00:7::1", "fd00:7::2", "fd00:7::4"];
    assert_eq!(api.addresses("db"), published);
    let events = api.event_objects();
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&event["reason"], &event["type"]), (&json!("MalformedNetworkStatus"), &json!("Warning")));
    assert_eq!(event["involvedObject"]["name"], "db-3");
    let message = event["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("Not published for Service db: {NETWORK_STATUS}: ")), "{message}");

    upsert::<Pod>(&api, pod("db-3", 2, &status(3)));
    api.settle().await;
    assert!(
        api.addresses("db").contains(&"192.168.7.3".to_owned()),
        "published once the annotation is valid"
    );
}

#[tokio::test(start_paused = true)]
async fn changes_that_do_not_affect_us_cause_no_request() {
    let api = start().await;
    api.forget_requests();
    upsert::<Pod>(
        &api,
        merged(pod("db-1", 2, &status(1)), json!({"metadata": {"annotations": {"other": "changed"}}})),
    );
    upsert::<Service>(&api, service(2, json!({"metadata": {"annotations": {"other": "changed"}}})));
    for changes in [
        json!({"metadata": {"name": "plain", "annotations": null}}),
        json!({"metadata": {"name": "theirs", "labels": {ENDPOINT_CONTROLLER_NAME: "other.example.com"}}}),
        json!({"metadata": {"name": "manual"}, "spec": {"selector": null}}),
    ] {
        upsert::<Service>(&api, service(1, changes));
    }
    api.settle().await;
    assert_eq!(api.requests(), Vec::<String>::new());
}

/// Both before and after the label is set, so that the Service is never without endpoints.
#[tokio::test(start_paused = true)]
async fn a_service_without_a_controller_is_published_too() {
    let api = start().await;
    api.forget_requests();
    upsert::<Service>(&api, service(2, json!({"metadata": {"labels": null}})));
    api.settle().await;
    assert_eq!(api.addresses("db"), BOTH);
    // Slices carry the labels of their Service.
    assert!(api.requests().iter().all(|request| request.starts_with("PUT")), "{:?}", api.requests());
}

#[tokio::test(start_paused = true)]
async fn our_slices_of_a_service_of_another_controller_are_deleted() {
    for changes in [
        json!({"metadata": {"annotations": null}}),
        json!({"metadata": {"labels": {ENDPOINT_CONTROLLER_NAME: "other.example.com"}}}),
    ] {
        let api = start().await;
        upsert::<Service>(&api, service(2, changes));
        api.settle().await;
        assert_eq!(api.slices("db"), []);
        upsert::<Service>(&api, service(3, json!({})));
        api.settle().await;
        assert_eq!(api.addresses("db"), BOTH, "created again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_writes_only_what_was_missed() {
    let api = TestApi::default();
    fill(&api);
    let first = run(&api);
    api.settle().await;
    first.stop().await;
    let second = run(&api);
    api.settle().await;
    assert_eq!(api.requests(), Vec::<String>::new());

    second.stop().await;
    upsert::<Service>(&api, service(2, json!({"metadata": {"annotations": null}})));
    run(&api);
    api.settle().await;
    assert_eq!(api.slices("db"), []);
}
