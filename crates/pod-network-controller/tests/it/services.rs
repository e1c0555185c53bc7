//! Fields of a Service besides its network.

use std::collections::BTreeSet;
use std::net::IpAddr;

use controller_harness::{TestApi, merged};
use endpoint_informers::cache::{State, UnreadableObject};
use endpoint_informers::reconciler::{Reconciler, SliceReconciler as _};
use endpointslice::desired::Attachment;
use endpointslice::well_known::{ENDPOINT_CONTROLLER_NAME, MANAGED_BY};
use endpointslice::{Node, Pod, Service};
use pod_network_controller::{Missing, NAME, PodNetworks, ResourceClaim, Source};
use serde_json::json;

use crate::support::{
    BOTH, NETWORK, claim, conditions, endpoint, fill, methods, pod, run, service, sizes, start, upsert,
};

#[tokio::test(start_paused = true)]
async fn both_families_are_published_with_zones() {
    let api = start().await;
    let slices = api.slices("db");
    assert_eq!(slices.len(), 2, "one slice for each family");
    for slice in slices {
        assert_eq!(slice.metadata.labels.as_ref().unwrap()[MANAGED_BY], NAME);
    }
    assert_eq!(endpoint(&api, "fd00:7::1").zone.as_deref(), Some("a"));
    assert_eq!(endpoint(&api, "192.168.7.1").target_ref.unwrap().name.as_deref(), Some("db-1"));
}

#[tokio::test(start_paused = true)]
async fn named_ports_are_those_of_the_pods() {
    for slice in start().await.slices("db") {
        let port = &slice.ports.as_ref().unwrap()[0];
        assert_eq!((port.name.as_deref(), port.port), (Some("sql"), Some(15432)));
    }
}

#[tokio::test(start_paused = true)]
async fn not_ready_addresses_are_published_as_ready_on_request() {
    let api = start().await;
    upsert::<Service>(&api, service(2, json!({"spec": {"publishNotReadyAddresses": true}})));
    upsert::<Pod>(&api, pod("db-2", 2, json!({"status": {"conditions": []}})));
    api.settle().await;
    assert_eq!(conditions(&api, "192.168.7.2"), [true, false, false]);
}

#[tokio::test(start_paused = true)]
async fn a_headless_service_publishes_host_names() {
    let api = start().await;
    upsert::<Service>(&api, service(2, json!({"spec": {"clusterIP": "None"}})));
    upsert::<Pod>(&api, pod("db-2", 2, json!({"spec": {"hostname": "second", "subdomain": "db"}})));
    api.settle().await;
    assert_eq!(endpoint(&api, "192.168.7.2").hostname.as_deref(), Some("second"));
    assert_eq!(endpoint(&api, "192.168.7.1").hostname, None);
}

#[tokio::test(start_paused = true)]
async fn traffic_distribution_sets_hints() {
    let api = start().await;
    upsert::<Service>(&api, service(2, json!({"spec": {"trafficDistribution": "PreferSameZone"}})));
    api.settle().await;
    let hints = endpoint(&api, "192.168.7.1").hints.unwrap();
    assert_eq!(hints.for_zones.unwrap()[0].name, "a");
}

#[tokio::test(start_paused = true)]
async fn more_than_a_thousand_endpoints_fill_slices_of_a_hundred() {
    let api = TestApi::default();
    fill(&api);
    upsert::<Service>(&api, service(2, json!({"spec": {"ipFamilies": ["IPv4"]}})));
    for number in 3..=1050 {
        let name = format!("db-{number}");
        upsert::<Pod>(&api, pod(&name, 1, json!({})));
        let address = format!("192.168.{}.{}/16", 8 + number / 250, number % 250);
        upsert::<ResourceClaim>(&api, claim(&name, 1, &name, &[&address]));
    }
    run(&api);
    api.settle().await;
    let sizes = sizes(&api.slices("db"));
    assert_eq!((sizes.len(), sizes.iter().sum::<usize>(), sizes[10]), (11, 1050, 100));
}

#[tokio::test(start_paused = true)]
async fn changes_that_do_not_affect_us_cause_no_request() {
    let api = start().await;
    upsert::<Pod>(&api, pod("db-1", 2, json!({"metadata": {"annotations": {"other": "changed"}}})));
    upsert::<Service>(&api, service(2, json!({"metadata": {"annotations": {"other": "changed"}}})));
    for changes in [
        json!({"metadata": {"name": "plain", "labels": {ENDPOINT_CONTROLLER_NAME: null, NETWORK: null}}}),
        json!({"metadata": {"name": "theirs", "labels": {ENDPOINT_CONTROLLER_NAME: "other.example.com"}}}),
        json!({"metadata": {"name": "manual"}, "spec": {"selector": null}}),
    ] {
        upsert::<Service>(&api, service(1, changes));
    }
    api.settle().await;
    assert_eq!(api.requests(), Vec::<String>::new());
}

/// Without the label, only on request: both before and after it is set, so that the Service is never without endpoints.
#[tokio::test(start_paused = true)]
async fn a_service_without_the_label_is_published_if_its_annotation_asks_for_it() {
    let api = start().await;
    let without = json!({"metadata": {"labels": {ENDPOINT_CONTROLLER_NAME: null}}});
    let annotated = json!({"metadata": {"annotations": {"pod-network-controller/alongside": "true"}}});
    upsert::<Service>(&api, service(2, merged(without.clone(), annotated)));
    api.settle().await;
    assert_eq!(api.addresses("db"), BOTH);
    // Slices carry the labels of their Service.
    assert_eq!(methods(&api).into_iter().collect::<Vec<_>>(), ["PUT"]);
    upsert::<Service>(&api, service(3, without));
    api.settle().await;
    assert_eq!(api.slices("db"), [], "a network may be named for another controller");
}

#[tokio::test(start_paused = true)]
async fn an_address_that_no_slice_of_the_service_can_have_withholds_the_pod_and_is_reported() {
    for (ips, families) in
        [(["192.168.7.2/24"], ["IPv6"]), (["fe80::2/64"], ["IPv6"]), (["127.0.0.1/8"], ["IPv4"])]
    {
        let api = TestApi::default();
        fill(&api);
        upsert::<Service>(&api, service(2, json!({"spec": {"ipFamilies": families}})));
        upsert::<ResourceClaim>(&api, claim("db-2", 2, "db-2", &ips));
        run(&api);
        api.settle().await;
        assert_eq!(api.endpoints("db").len(), 1, "{ips:?}");
        let events = api.event_objects();
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!(
            (&event["reason"], &event["involvedObject"]["name"]),
            (&json!("UnsuitableAddress"), &json!("db-2"))
        );
    }
}

/// A wrong template must not cost an event for each of thousands of pods at every sync.
#[tokio::test(start_paused = true)]
async fn of_many_misconfigured_pods_the_first_ten_are_reported() {
    let api = TestApi::default();
    fill(&api);
    for number in 10..25 {
        let name = format!("db-{number}");
        upsert::<Pod>(&api, pod(&name, 1, json!({})));
        upsert::<ResourceClaim>(&api, claim(&name, 1, &name, &["net1"]));
    }
    run(&api);
    api.settle().await;
    assert_eq!(api.addresses("db"), BOTH);
    let events = api.event_objects();
    let reported: BTreeSet<&str> =
        events.iter().filter_map(|event| event["involvedObject"]["name"].as_str()).collect();
    let first: BTreeSet<String> = (10..20).map(|number| format!("db-{number}")).collect();
    assert!(reported.iter().eq(first.iter()), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn pods_of_another_namespace_are_not_published() {
    let api = start().await;
    let theirs = json!({"metadata": {"namespace": "theirs"}});
    upsert::<Pod>(&api, pod("db-9", 1, theirs.clone()));
    upsert::<ResourceClaim>(&api, merged(claim("db-9", 1, "db-9", &["192.168.7.9/24"]), theirs));
    api.settle().await;
    assert_eq!(api.requests(), Vec::<String>::new());
}

/// The Service is ours, and says nothing: an empty slice and a Warning, as for a selector that selects nothing.
#[tokio::test(start_paused = true)]
async fn a_service_without_a_network_has_no_endpoints_and_a_warning() {
    let api = start().await;
    upsert::<Service>(&api, service(2, json!({"metadata": {"labels": {NETWORK: null}}})));
    api.settle().await;
    assert_eq!(api.addresses("db"), Vec::<String>::new());
    assert_eq!(api.events()[0].0, "NoNetwork");
}

/// A template that leaves the name out writes an empty one.
#[tokio::test(start_paused = true)]
async fn an_empty_name_of_a_network_is_none() {
    for changes in [
        json!({"labels": {NETWORK: ""}}),
        json!({"labels": {NETWORK: null}, "annotations": {"k8s.v1.cni.cncf.io/service-network": ""}}),
        json!({"labels": {NETWORK: null}, "annotations": {"pod-network-controller/dra-driver": ""}}),
        json!({"labels": {NETWORK: null}, "annotations": {"pod-network-controller/dra-request": ""}}),
    ] {
        let api = start().await;
        upsert::<Service>(&api, service(2, json!({"metadata": changes})));
        api.settle().await;
        assert_eq!(api.addresses("db"), Vec::<String>::new(), "{changes}");
        assert_eq!(api.events().first().map(|(reason, _)| &**reason), Some("NoNetwork"), "{changes}");
    }
    let api = start().await;
    let empty = json!({
        "labels": {
            "multinetwork.networking.k8s.io/spec.podnetwork.kind": "",
            "multinetwork.networking.k8s.io/spec.podnetwork.namespace": "",
        },
        "annotations": {"k8s.v1.cni.cncf.io/service-network": ""},
    });
    upsert::<Service>(&api, service(2, json!({"metadata": empty})));
    api.settle().await;
    assert_eq!(api.addresses("db"), BOTH, "the label names the network");
}

#[tokio::test(start_paused = true)]
async fn a_restart_writes_only_what_was_missed() {
    let api = TestApi::default();
    fill(&api);
    let first = run(&api);
    api.settle().await;
    api.forget_requests();
    first.stop().await;
    let second = run(&api);
    api.settle().await;
    assert_eq!(api.requests(), Vec::<String>::new());

    second.stop().await;
    upsert::<ResourceClaim>(&api, claim("db-2", 2, "db-2", &["192.168.7.3/24", "fd00:7::2/64"]));
    run(&api);
    api.settle().await;
    assert_eq!(methods(&api).into_iter().collect::<Vec<_>>(), ["PUT"]);
    assert_eq!(api.addresses("db"), ["192.168.7.1", "192.168.7.3", "fd00:7::1", "fd00:7::2"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_node_is_unknown_waits_for_it() {
    let api = start().await;
    upsert::<Pod>(&api, pod("db-3", 1, json!({"spec": {"nodeName": "node-2"}})));
    upsert::<ResourceClaim>(&api, claim("db-3", 1, "db-3", &["192.168.7.3/24"]));
    api.settle().await;
    assert!(!api.addresses("db").contains(&"192.168.7.3".to_owned()));
    upsert::<Node>(
        &api,
        json!({"metadata": {"name": "node-2", "labels": {"topology.kubernetes.io/zone": "b"}}}),
    );
    api.settle().await;
    assert_eq!(endpoint(&api, "192.168.7.3").zone.as_deref(), Some("b"));
}

/// The scheduler reserves claims before it binds their pod, and a driver may report addresses meanwhile.
#[tokio::test(start_paused = true)]
async fn a_pod_without_a_node_is_not_published_whatever_its_claim_says() {
    let api = start().await;
    upsert::<Service>(&api, service(9, json!({"spec": {"publishNotReadyAddresses": true}})));
    upsert::<Pod>(&api, pod("db-3", 1, json!({"spec": {"nodeName": null}})));
    upsert::<ResourceClaim>(&api, claim("db-3", 1, "db-3", &["192.168.7.3/24"]));
    api.settle().await;
    assert!(!api.addresses("db").contains(&"192.168.7.3".to_owned()));
    upsert::<Pod>(&api, pod("db-3", 2, json!({})));
    api.settle().await;
    assert!(api.addresses("db").contains(&"192.168.7.3".to_owned()));
}

/// A third party's source: a fixed address for each pod.
struct Static;

impl Source for Static {
    fn annotations(&self) -> &'static [&'static str] {
        &["example.com/static"]
    }

    fn check_readable(&self, _: &Service, _: &State) -> Result<(), UnreadableObject> {
        Ok(())
    }

    fn serves(&self, service: &Service) -> bool {
        service.labels.get(NETWORK) == Some("static")
    }

    fn attachment(&self, _: &Service, pod: &Pod, _: &State) -> Result<Attachment<Vec<IpAddr>>, Missing> {
        let last = pod.name.strip_prefix("db-").and_then(|number| number.parse().ok());
        let last = last.ok_or(Missing::NotAttached)?;
        Ok(Attachment { addresses: vec![IpAddr::from([172, 16, 0, last])], ready: true })
    }
}

#[tokio::test(start_paused = true)]
async fn another_source_serves_the_services_that_it_knows() {
    let api = TestApi::default();
    fill(&api);
    api.run(|cache, client, _, _| Reconciler::new(PodNetworks::default().with_source(Static), cache, client));
    api.settle().await;
    assert_eq!(api.addresses("db"), BOTH);
    upsert::<Service>(&api, service(2, json!({"metadata": {"labels": {NETWORK: "static"}}})));
    api.settle().await;
    assert_eq!(api.addresses("db"), ["172.16.0.1", "172.16.0.2"]);
}

/// The cache keeps no other annotations: a source that names none of its own would find none.
#[test]
fn the_annotations_of_a_source_are_cached_with_those_of_the_others() {
    let own = PodNetworks::default().annotations();
    let networks = PodNetworks::default().with_source(Static);
    assert_eq!(networks.annotations(), [own, vec!["example.com/static"]].concat());
}
