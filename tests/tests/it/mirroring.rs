//! Events about addresses that are not mirrored, on a real API server: the same from upstream and from ours. Upstream's
//! other tests of its controller have counterparts in the controller's own (`endpointslice-mirroring-controller`).

use std::collections::BTreeSet;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Endpoints, Event};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::scenario::{NAMESPACE, World};
use tests::wait::{self, LIMIT};

const MIRRORING: &[Controller] = &[Controller::EndpointSliceMirroring];
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
    let cluster = Box::pin(Cluster::start(ClusterOptions::default())).await;
    let world = World::prepare(cluster.client(), MIRRORING).await;
    let _manager = Manager::start(kind, &cluster, &options).await;
    world.sync().await;
    let endpoints: Api<Endpoints> = Api::namespaced(cluster.client(), NAMESPACE);
    for (name, ips) in CASES {
        world.service(name, json!({}), json!({"ports": [{"port": 80}]})).await;
        create(&cluster, &endpoints, name, ips).await;
    }
    world.settle().await;
    // A worker of upstream may have an earlier sync in hand when another has reached the barrier.
    wait::until("mirrored addresses", LIMIT, async || {
        let slices = world.slices().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        for slice in slices.items {
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
    let events: Api<Event> = Api::namespaced(cluster.client(), NAMESPACE);
    // Events are sent in the background, so these may still be on their way.
    let what = format!("events of {}", kind.name());
    wait::until(&what, LIMIT, async || {
        let mut events = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        events.retain(|event| !is_of_the_api_server(event));
        let mut distinct = BTreeSet::new();
        for event in events {
            distinct.insert(canonical(&endpoints, event).await);
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
async fn create(cluster: &Cluster, endpoints: &Api<Endpoints>, name: &str, ips: &[&str]) {
    // Few enough to cause no event.
    let accepted = if let [INVALID, valid, ..] = ips { std::slice::from_ref(valid) } else { ips };
    let object = json!({"metadata": {"name": name}, "subsets": subsets(accepted)});
    let object = serde_json::from_value(object).unwrap();
    let mut stored = endpoints.create(&PostParams::default(), &object).await.unwrap();
    if accepted != ips {
        stored.subsets = serde_json::from_value(subsets(ips)).unwrap();
        let key = format!("/registry/services/endpoints/{NAMESPACE}/{name}");
        store(&cluster.etcd_url(), &key, &json!(stored)).await;
    }
}

/// One subset with these addresses and port 80.
fn subsets(ips: &[&str]) -> Value {
    let addresses: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
    json!([{"addresses": addresses, "ports": [{"port": 80}]}])
}

/// The addresses of a slice, sorted.
fn addresses(slice: &EndpointSlice) -> Vec<String> {
    let endpoints = slice.endpoints.iter().flatten();
    let mut addresses: Vec<String> = endpoints.flat_map(|endpoint| endpoint.addresses.clone()).collect();
    addresses.sort();
    addresses
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
