//! Addresses from ResourceClaims.

use controller_harness::{NAMESPACE, TestApi};
use endpoint_informers::reconciler::Reconciler;
use endpointslice::{Pod, Service};
use pod_network_controller::{PodNetworks, ResourceClaim};
use serde_json::{Value, json};

use crate::support::{BOTH, NETWORK, claim, device, fill, methods, pod, run, service, start, upsert};

/// `db-1` has the only claim, in this state.
async fn published_with(claims: &[Value]) -> Vec<String> {
    let api = TestApi::default();
    fill(&api);
    api.remove::<Pod>("db-2");
    for name in ["db-1", "db-2"] {
        api.remove::<ResourceClaim>(name);
    }
    for claim in claims {
        upsert::<ResourceClaim>(&api, claim.clone());
    }
    run(&api);
    api.settle().await;
    api.addresses("db")
}

#[tokio::test(start_paused = true)]
async fn addresses_are_read_in_every_form() {
    for (ips, published) in [
        (&["192.168.7.1/24", "fd00:7::1/64"][..], &["192.168.7.1", "fd00:7::1"][..]),
        (&["fd00:7::1/64", "192.168.7.1/24"], &["192.168.7.1", "fd00:7::1"]),
        (&["192.168.7.1"], &["192.168.7.1"]),
        (&["192.168.7.1/32", "192.168.7.2/32"], &["192.168.7.1"]),
        (&["FD00:7:0::1/64"], &["fd00:7::1"]),
        (&[], &[]),
    ] {
        assert_eq!(published_with(&[claim("c", 1, "db-1", ips)]).await, published, "{ips:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_several_claims_and_devices_those_in_the_network_count() {
    let mut second = claim("second", 1, "db-1", &[]);
    second["status"]["devices"] =
        json!([device("backup", &["192.168.8.1/24"]), device("storage", &["fd00:7::1/64"])]);
    let first = claim("first", 1, "db-1", &["192.168.7.1/24"]);
    assert_eq!(published_with(&[first, second]).await, ["192.168.7.1", "fd00:7::1"]);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_address_withholds_the_pod_and_is_reported() {
    let api = start().await;
    upsert::<ResourceClaim>(&api, claim("db-2", 2, "db-2", &["192.168.7.2/24", "net1"]));
    api.settle().await;
    assert_eq!(api.addresses("db"), ["192.168.7.1", "fd00:7::1"]);
    let events = api.event_objects();
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(
        (&event["reason"], &event["involvedObject"]["name"]),
        (&json!("MalformedNetworkStatus"), &json!("db-2"))
    );
    assert!(event["message"].as_str().unwrap().contains("networkData.ips: \"net1\""), "{event}");
}

/// In time for the 50 ms that a claim's status may take to its slice: nothing is batched.
#[tokio::test(start_paused = true)]
async fn a_slice_follows_the_status_of_a_claim_at_once() {
    let api = start().await;
    upsert::<ResourceClaim>(&api, claim("db-2", 2, "db-2", &["192.168.7.3/24"]));
    api.advance(std::time::Duration::from_millis(10)).await;
    assert_eq!(api.addresses("db"), ["192.168.7.1", "192.168.7.3", "fd00:7::1"]);
}

/// Which of two networks is meant, is not ours to guess.
#[tokio::test(start_paused = true)]
async fn a_pod_in_two_networks_of_the_name_is_withheld_and_reported() {
    for other in [
        json!({"kind": "Other", "name": "storage"}),
        json!({"kind": "PodNetwork", "name": "storage", "namespace": NAMESPACE}),
    ] {
        let api = start().await;
        let mut two = claim("db-2", 2, "db-2", &["192.168.7.2/24"]);
        let mut second = device("storage", &["192.168.8.2/24"]);
        second["data"]["podNetwork"] = other;
        two["status"]["devices"].as_array_mut().unwrap().push(second);
        upsert::<ResourceClaim>(&api, two);
        api.settle().await;
        assert_eq!(api.addresses("db"), ["192.168.7.1", "fd00:7::1"]);
        assert_eq!(api.event_objects()[0]["reason"], "AmbiguousNetwork");
    }
}

/// Clients of one network do not reach the pods of the other.
#[tokio::test(start_paused = true)]
async fn pods_in_two_networks_of_the_name_are_withheld_and_reported() {
    let api = start().await;
    let mut two = claim("db-2", 2, "db-2", &["192.168.7.2/24"]);
    two["status"]["devices"][0]["data"]["podNetwork"] = json!({"kind": "Other", "name": "storage"});
    upsert::<ResourceClaim>(&api, two);
    api.settle().await;
    assert_eq!(api.addresses("db"), Vec::<String>::new());
    let events = api.event_objects();
    assert_eq!((events.len(), &events[0]["reason"]), (1, &json!("AmbiguousNetwork")));
    assert_eq!(events[0]["involvedObject"]["name"], "db", "{events:?}");
    let kind = "multinetwork.networking.k8s.io/spec.podnetwork.kind";
    upsert::<Service>(&api, service(2, json!({"metadata": {"labels": {kind: "Other"}}})));
    api.settle().await;
    assert_eq!(api.addresses("db"), ["192.168.7.2"]);
}

/// A driver that does not name the network of a device says nothing about devices that the Service does not ask for.
#[tokio::test(start_paused = true)]
async fn malformed_data_of_another_driver_is_no_reason() {
    let api = start().await;
    let mut two = claim("db-2", 2, "db-2", &["192.168.7.2/24"]);
    two["status"]["devices"][0]["driver"] = json!("other.example.com");
    two["status"]["devices"][0]["data"] = json!({"podNetwork": 7});
    upsert::<ResourceClaim>(&api, two);
    let annotations = json!({"pod-network-controller/dra-driver": "net.example.com"});
    upsert::<Service>(&api, service(2, json!({"metadata": {"annotations": annotations}})));
    api.settle().await;
    assert_eq!(
        (api.addresses("db"), api.events()),
        (vec!["192.168.7.1".to_owned(), "fd00:7::1".to_owned()], vec![])
    );
}

/// A replica that began with an API server of an older release.
#[tokio::test(start_paused = true)]
async fn without_claims_in_the_api_slices_stay_as_they_are() {
    let api = TestApi::default();
    fill(&api);
    let leader = run(&api);
    api.settle().await;
    leader.stop().await;
    api.forget_requests();
    api.run(|cache, client, _, _| Reconciler::new(PodNetworks::without_claims(), cache, client));
    upsert::<Pod>(&api, pod("db-2", 2, json!({"status": {"phase": "Failed"}})));
    api.settle().await;
    assert_eq!(
        (api.addresses("db"), api.requests()),
        (BOTH.map(str::to_owned).to_vec(), Vec::<String>::new())
    );
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_claim_that_affects_no_address_causes_no_request() {
    let api = start().await;
    let mut changed = claim("db-2", 2, "db-2", &["192.168.7.2/24", "fd00:7::2/64"]);
    changed["metadata"]["annotations"] = json!({"changed": "yes"});
    changed["status"]["devices"][0]["networkData"]["hardwareAddress"] = "0a:58:c0:a8:07:02".into();
    changed["status"]["devices"].as_array_mut().unwrap().push(device("backup", &["192.168.8.2/24"]));
    upsert::<ResourceClaim>(&api, changed);
    upsert::<ResourceClaim>(&api, claim("another", 1, "nobody", &["192.168.7.9/24"]));
    api.settle().await;
    assert_eq!(api.requests(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_network_leaves_no_gap() {
    let api = start().await;
    for number in ["1", "2"] {
        let name = format!("db-{number}");
        let mut claim = claim(&name, 2, &name, &[]);
        claim["status"]["devices"] = json!([
            device("storage", &[&format!("192.168.7.{number}/24")]),
            device("backup", &[&format!("192.168.8.{number}/24"), &format!("fd00:8::{number}/64")])
        ]);
        upsert::<ResourceClaim>(&api, claim);
    }
    api.settle().await;
    api.forget_requests();
    upsert::<Service>(&api, service(2, json!({"metadata": {"labels": {NETWORK: "backup"}}})));
    api.settle().await;
    assert_eq!(api.addresses("db"), ["192.168.8.1", "192.168.8.2", "fd00:8::1", "fd00:8::2"]);
    assert_eq!(methods(&api).into_iter().collect::<Vec<_>>(), ["PUT"], "each slice is replaced in one write");
}
