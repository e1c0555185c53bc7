//! Events about addresses that are not mirrored: the same from upstream and from ours.

use std::collections::BTreeSet;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Endpoints, Event};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tests::manager::{Kind, ManagerOptions};
use tests::wait::{self, LIMIT};

use super::MIRRORING;
use super::fixture::{Fixture, Place, addresses};

const NAMESPACE: &str = "events";
const MAX: u32 = 2;
/// Sorts before the others, so that it comes before the maximum is reached.
const INVALID: &str = "0.example.com";

/// Names of Services, and the addresses of their Endpoints.
const CASES: [(&str, &[&str]); 4] = [
    ("fits", &["10.0.0.1", "10.0.0.2"]),
    ("many", &["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
    ("invalid", &[INVALID, "10.0.0.1"]),
    ("both", &[INVALID, "10.0.0.1", "10.0.0.2", "10.0.0.3"]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_get_events_about_addresses_that_are_not_mirrored() {
    let (upstream, ours) =
        tokio::join!(Box::pin(distinct_events(Kind::Upstream)), Box::pin(distinct_events(Kind::Ours)));
    assert_eq!(upstream, ours);
    let of = |name: &str, reason: &str, message: &str| {
        format!("Warning {reason} v1 Endpoints {name} by endpoint-slice-mirroring-controller: {message}")
    };
    let invalid = "Skipped 1 invalid IP addresses when mirroring to EndpointSlices";
    let too_many = "A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset.";
    let expected = [
        of("both", "InvalidIPAddress", invalid),
        of("both", "TooManyAddressesToMirror", &format!("{too_many} 2 addresses were skipped")),
        of("invalid", "InvalidIPAddress", invalid),
        of("many", "TooManyAddressesToMirror", &format!("{too_many} 1 addresses were skipped")),
    ];
    assert_eq!(ours, BTreeSet::from(expected));
}

/// The distinct events of one manager. Their number depends on the syncs, and is not compared.
async fn distinct_events(kind: Kind) -> BTreeSet<String> {
    let options = ManagerOptions { max_endpoints_per_subset: MAX, ..ManagerOptions::of(MIRRORING) };
    let fixture = Fixture::start(kind, options).await;
    let place = fixture.place(NAMESPACE).await;
    for (name, ips) in CASES {
        place.create_service_named(name, None).await;
        create(&fixture, &place, name, ips).await;
    }
    fixture.settle().await;
    // A worker of upstream may have an earlier sync in hand when another has reached the barrier.
    wait::until("mirrored addresses", LIMIT, async || {
        for slice in place.slices().await {
            let mirrored = addresses(&slice);
            let expected: &[&str] = if slice.name_any().starts_with("invalid") {
                &["10.0.0.1"]
            } else {
                &["10.0.0.1", "10.0.0.2"]
            };
            if mirrored != expected {
                return Err(format!("{} has {mirrored:?}", slice.name_any()));
            }
        }
        Ok(())
    })
    .await;
    let events: Api<Event> = Api::namespaced(place.client.clone(), NAMESPACE);
    // Events are sent in the background, so these may still be on their way.
    let what = format!("events of {}", kind.name());
    wait::until(&what, LIMIT, async || {
        let mut events = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        events.retain(|event| !is_of_the_api_server(event));
        let mut distinct = BTreeSet::new();
        for event in events {
            distinct.insert(canonical(&place.endpoints(), event).await);
        }
        if distinct.len() >= 4 { Ok(distinct) } else { Err(format!("{distinct:#?}")) }
    })
    .await
}

/// True for a warning of the API server's check of cluster IPs and ports, which may run in the middle of a change.
fn is_of_the_api_server(event: &Event) -> bool {
    let source = event.source.as_ref().and_then(|source| source.component.as_deref());
    [source, event.reporting_component.as_deref()]
        .into_iter()
        .flatten()
        .any(|component| component.ends_with("allocator-repair-controller"))
}

/// Creates Endpoints, with an invalid address if there is to be one.
///
/// The API server refuses such an address, but reads one that is stored: by a release that was more lenient or, as
/// here, by a client of etcd.
async fn create(fixture: &Fixture, place: &Place, name: &str, ips: &[&str]) {
    let [INVALID, valid, ..] = ips else {
        place.create_endpoints_named(name, &json!([super::subset(ips)])).await;
        return;
    };
    // Few enough to cause no event.
    place.create_endpoints_named(name, &json!([super::subset(&[valid])])).await;
    let mut stored = place.endpoints().get(name).await.unwrap();
    stored.subsets = serde_json::from_value(json!([super::subset(ips)])).unwrap();
    let key = format!("/registry/services/endpoints/{NAMESPACE}/{name}");
    store(&fixture.cluster.etcd_url(), &key, &json!(stored)).await;
}

/// Writes an object into etcd, through its gateway for JSON.
async fn store(etcd: &str, key: &str, object: &Value) {
    let base64 = |text: String| ByteString(text.into_bytes());
    let body = json!({"key": base64(key.to_owned()), "value": base64(object.to_string())});
    let request = http::Request::post("/v3/kv/put").body(body.to_string().into_bytes()).unwrap();
    let client = Client::try_from(kube::Config::new(etcd.parse().unwrap())).unwrap();
    client.request::<Value>(request).await.unwrap();
}

/// An event without names, times and counts. It must be about the current object.
async fn canonical(endpoints: &Api<Endpoints>, event: Event) -> String {
    let object = event.involved_object;
    let name = object.name.unwrap_or_default();
    assert_eq!(object.namespace.as_deref(), Some(NAMESPACE));
    let uid = endpoints.get(&name).await.unwrap().uid();
    assert_eq!(
        object.uid,
        uid,
        "{name}: {} by {:?}",
        event.message.as_deref().unwrap_or_default(),
        event.source
    );
    format!(
        "{} {} {} {} {name} by {}: {}",
        event.type_.unwrap_or_default(),
        event.reason.unwrap_or_default(),
        object.api_version.unwrap_or_default(),
        object.kind.unwrap_or_default(),
        event.source.and_then(|source| source.component).unwrap_or_default(),
        event.message.unwrap_or_default(),
    )
}
