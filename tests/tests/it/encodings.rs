//! Protobuf and JSON of the same objects, as the real API server sends them, decode to identical values.

use endpoint_informers::kinds::{CachedEndpoints, CachedSlice};
use endpoint_informers::resource::Resource as CachedKind;
use endpointslice::{Interner, Node, Pod, Service};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Client;
use kube_protobuf::{List, Message, Unknown};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tests::manager::Kind;
use tests::parity::Run;
use tests::workload::PHASES;

/// One list in both encodings: protobuf messages and JSON texts, item by item.
struct Both {
    protobuf: Vec<Vec<u8>>,
    json: Vec<String>,
}

async fn body(client: &Client, path: &str, accept: &str) -> Vec<u8> {
    let request = http::Request::get(path).header(http::header::ACCEPT, accept);
    let response = client.send(request.body(kube::client::Body::empty()).unwrap()).await.unwrap();
    assert!(response.status().is_success(), "{path}: {}", response.status());
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

async fn both(client: &Client, path: &str) -> Both {
    #[derive(serde::Deserialize)]
    struct JsonList {
        items: Vec<Box<RawValue>>,
    }
    let bytes = body(client, path, "application/vnd.kubernetes.protobuf").await;
    let envelope = Unknown::parse(&bytes).unwrap();
    let items = List::parse(envelope.raw).unwrap().items();
    let protobuf: Vec<Vec<u8>> = items.map(|item| item.unwrap().to_vec()).collect();
    let json: JsonList = serde_json::from_slice(&body(client, path, "application/json").await).unwrap();
    let json: Vec<String> = json.items.iter().map(|item| item.get().to_owned()).collect();
    assert_eq!(protobuf.len(), json.len(), "{path} must not change between the two requests");
    assert!(!json.is_empty(), "{path} must hold something to compare");
    Both { protobuf, json }
}

/// Compares the compact form that the cache holds.
async fn same_in_cache<K: CachedKind + PartialEq + std::fmt::Debug>(client: &Client) -> usize {
    let both = both(client, K::PATH).await;
    for (protobuf, json) in both.protobuf.iter().zip(&both.json) {
        let from_protobuf = K::from_protobuf(protobuf, &mut Interner::default()).unwrap();
        let from_json = K::from_json(json, &mut Interner::default()).unwrap();
        assert_eq!(from_protobuf, from_json, "{json}");
    }
    both.json.len()
}

/// Checks that all fields of the written objects survive both encodings.
async fn same_in_full<M>(client: &Client, path: &str, without_managed_fields: fn(&mut M)) -> usize
where
    M: Message + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let both = both(client, path).await;
    for (protobuf, json) in both.protobuf.iter().zip(&both.json) {
        let mut from_json: M = serde_json::from_str(json).unwrap();
        without_managed_fields(&mut from_json);
        let from_protobuf = M::decode(protobuf).unwrap();
        assert_eq!(from_protobuf, from_json, "{json}");
        assert_eq!(M::decode(&from_json.encode()).unwrap(), from_json, "{json}");
    }
    both.json.len()
}

/// Creates an Endpoints object that has every field.
async fn create_endpoints(client: &Client) {
    let object = serde_json::json!({
        "metadata": {"name": "custom", "labels": {"a": "b"}, "annotations": {"c": ""}},
        "subsets": [{
            "addresses": [{"ip": "10.9.0.1", "hostname": "h", "nodeName": "n",
                "targetRef": {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u"}}],
            "notReadyAddresses": [{"ip": "10.9.0.2"}],
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "appProtocol": "h2c"}],
        }],
    });
    let endpoints: Endpoints = serde_json::from_value(object).unwrap();
    let api: kube::Api<Endpoints> = kube::Api::default_namespaced(client.clone());
    api.create(&kube::api::PostParams::default(), &endpoints).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protobuf_and_json_are_read_alike() {
    let run = Run::start(Kind::Ours).await;
    run.record(PHASES).await;
    let client = run.cluster.client();
    create_endpoints(&client).await;
    let pods = same_in_cache::<Pod>(&client).await;
    let services = same_in_cache::<Service>(&client).await;
    let nodes = same_in_cache::<Node>(&client).await;
    let slices = same_in_full::<EndpointSlice>(&client, CachedSlice::PATH, |slice| {
        slice.metadata.managed_fields = None;
        // The API server writes `null` for a nil slice of Go.
        slice.endpoints.take_if(|endpoints| endpoints.is_empty());
        slice.ports.take_if(|ports| ports.is_empty());
    })
    .await;
    let endpoints = same_in_full::<Endpoints>(&client, CachedEndpoints::PATH, |object| {
        object.metadata.managed_fields = None
    })
    .await;
    println!(
        "compared {pods} Pods, {services} Services, {nodes} Nodes, {slices} EndpointSlices, {endpoints} Endpoints"
    );
}

/// The manager that uses JSON takes over from the manager that uses protobuf, and writes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_that_uses_json_agrees() {
    let run = Run::start(Kind::Ours).await;
    run.record(PHASES).await;
    let writes =
        Box::pin(run.hand_over_with(Kind::Ours, &["--kube-api-content-type=application/json"])).await;
    let writes: Vec<String> = writes.iter().map(ToString::to_string).collect();
    assert!(writes.is_empty(), "{}", writes.join("\n"));
}
