//! Addresses from the annotation of Multus.

use controller_harness::{TestApi, merged};
use endpoint_informers::cache::State;
use endpoint_informers::reconciler::SliceReconciler as _;
use endpoint_informers::resource::Resource as _;
use endpointslice::{Interner, Pod, Service};
use pod_network_controller::PodNetworks;
use serde_json::{Value, json};

use crate::support::{NETWORK, fill, pod, run, service, upsert};

const SERVICE_NETWORK: &str = "k8s.v1.cni.cncf.io/service-network";
const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// Pod `db-N` with its status in network `storage`.
fn attached(number: u8, version: u32) -> Value {
    let status = json!([
        {"name": "cbr0", "interface": "eth0", "ips": [format!("10.1.0.{number}")], "default": true},
        {"name": "default/storage", "interface": "net1", "ips": [format!("192.168.9.{number}"), format!("fd00:9::{number}")]},
    ]);
    with_status(number, version, &status.to_string())
}

fn with_status(number: u8, version: u32, status: &str) -> Value {
    pod(&format!("db-{number}"), version, json!({"metadata": {"annotations": {NETWORK_STATUS: status}}}))
}

/// `db` in network `storage`, with two pods.
async fn start() -> TestApi {
    let api = TestApi::default();
    fill(&api);
    let changes =
        json!({"metadata": {"annotations": {SERVICE_NETWORK: "storage"}, "labels": {NETWORK: null}}});
    upsert::<Service>(&api, service(2, changes));
    for number in [1, 2] {
        upsert::<Pod>(&api, attached(number, 2));
    }
    run(&api);
    api.settle().await;
    assert_eq!(api.addresses("db"), ["192.168.9.1", "192.168.9.2", "fd00:9::1", "fd00:9::2"]);
    api.forget_requests();
    api
}

#[tokio::test(start_paused = true)]
async fn endpoints_follow_the_annotation_of_their_pod() {
    let api = start().await;
    let moved = attached(3, 3)["metadata"]["annotations"].clone();
    upsert::<Pod>(&api, merged(attached(2, 3), json!({"metadata": {"annotations": moved}})));
    api.settle().await;
    assert_eq!(api.addresses("db"), ["192.168.9.1", "192.168.9.3", "fd00:9::1", "fd00:9::3"]);
    assert_eq!(api.requests().len(), 2, "one update for each family: {:?}", api.requests());
    upsert::<Pod>(&api, with_status(2, 4, "[]"));
    api.settle().await;
    assert_eq!(api.addresses("db"), ["192.168.9.1", "fd00:9::1"]);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_annotation_withholds_that_pod_and_is_reported() {
    let api = start().await;
    upsert::<Pod>(&api, with_status(3, 1, "net1: 192.168.9.3"));
    upsert::<Pod>(&api, attached(4, 1));
    api.settle().await;
    let published = ["192.168.9.1", "192.168.9.2", "192.168.9.4", "fd00:9::1", "fd00:9::2", "fd00:9::4"];
    assert_eq!(api.addresses("db"), published);
    let events = api.event_objects();
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&event["reason"], &event["type"]), (&json!("MalformedNetworkStatus"), &json!("Warning")));
    assert_eq!(event["involvedObject"]["name"], "db-3");
    let message = event["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("Not published for Service db: {NETWORK_STATUS}: ")), "{message}");

    upsert::<Pod>(&api, attached(3, 2));
    api.settle().await;
    assert!(
        api.addresses("db").contains(&"192.168.9.3".to_owned()),
        "published once the annotation is valid"
    );
}

/// Events, `explain` and the page show it.
#[test]
fn a_long_annotation_makes_no_long_reason() {
    for ips in [
        json!(vec!["127.0.0.1"; 10_000]),
        json!("x".repeat(100_000)),
        json!(["\u{e9}".repeat(100_000)]),
        json!(["x".repeat(100_000)]),
    ] {
        let status = json!([{"name": "storage", "ips": ips}]).to_string();
        let mut interner = Interner::keeping_annotations(PodNetworks::ANNOTATIONS.iter().copied());
        let pod = Pod::from_json(&with_status(1, 1, &status).to_string(), &mut interner).unwrap();
        let changes = json!({"metadata": {"annotations": {SERVICE_NETWORK: "storage"}}});
        let service = Service::from_json(&service(1, changes).to_string(), &mut interner).unwrap();
        let found = PodNetworks::default().attachment(&service, &pod, &State::default());
        let missing = found.unwrap().unwrap_err().to_string();
        assert!(missing.len() < 500, "{} bytes: {missing:.500}", missing.len());
    }
}
