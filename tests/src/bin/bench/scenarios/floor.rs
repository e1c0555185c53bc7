//! The floor: what the API server, the network and a client that does nothing else need for the same objects.

use std::time::Instant;

use futures::StreamExt as _;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::client::Body;
use kube::{Api, Client};
use kube_protobuf::{Message, wrap};
use tests::cluster::Cluster;
use tests::process::own_usage;

use super::figures::{CPU, Figures, RECEIVED, SECONDS, WRITES, count};
use crate::report::megabytes;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// Writes in flight.
const CONCURRENCY: usize = 50;

/// Lists what controllers list, as they list it, and drops the bytes.
pub(crate) async fn list(cluster: &Cluster) -> Figures {
    let client = cluster.client();
    let (start, cpu) = (Instant::now(), own_usage().cpu);
    let mut received = 0;
    for path in ["/api/v1/nodes", "/api/v1/services", "/api/v1/pods"] {
        received += read(&client, &format!("{path}?resourceVersion=0")).await;
    }
    Figures::from([
        (SECONDS, start.elapsed().as_secs_f64()),
        (CPU, own_usage().cpu.saturating_sub(cpu).as_secs_f64()),
        (RECEIVED, megabytes(received)),
    ])
}

/// The number of bytes of the answer.
async fn read(client: &Client, path: &str) -> u64 {
    let request = Request::get(path).header(ACCEPT, PROTOBUF).body(Body::empty()).expect("a request");
    let response = client.send(request).await.unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(response.status().is_success(), "{path}: {}", response.status());
    let mut body = std::pin::pin!(response.into_body());
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.unwrap_or_else(|error| panic!("{path}: {error}"));
        bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
    }
    bytes
}

/// Creates all slices and Endpoints of the cluster once more, under other names.
pub(crate) async fn writes(cluster: &Cluster) -> Figures {
    let client = cluster.client();
    let bodies = bodies(&client).await;
    let writes = bodies.len();
    let (start, cpu) = (Instant::now(), own_usage().cpu);
    let creations = bodies.into_iter().map(|(path, body)| create(&client, path, body));
    futures::stream::iter(creations).buffer_unordered(CONCURRENCY).collect::<()>().await;
    Figures::from([
        (SECONDS, start.elapsed().as_secs_f64()),
        (CPU, own_usage().cpu.saturating_sub(cpu).as_secs_f64()),
        (WRITES, count(writes)),
    ])
}

async fn create(client: &Client, path: String, body: Vec<u8>) {
    let request = Request::post(&path).header(ACCEPT, PROTOBUF).header(CONTENT_TYPE, PROTOBUF);
    let request = request.body(Body::from(body)).expect("a request");
    let response = client.send(request).await.unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(response.status().is_success(), "{path}: {}", response.status());
    // The answer is read, so that the connection can be used again.
    response.into_body().collect().await.unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// Paths and encoded objects.
async fn bodies(client: &Client) -> Vec<(String, Vec<u8>)> {
    let all = ListParams::default();
    let slices: Api<EndpointSlice> = Api::all(client.clone());
    let slices = slices.list(&all).await.expect("listing slices").items.into_iter();
    let endpoints: Api<Endpoints> = Api::all(client.clone());
    let endpoints = endpoints.list(&all).await.expect("listing Endpoints").items.into_iter();
    let slices = slices.enumerate().map(|(number, mut slice)| {
        rename(&mut slice.metadata, number);
        body("/apis/discovery.k8s.io/v1", "endpointslices", slice.metadata.namespace.clone(), &slice)
    });
    let endpoints = endpoints.enumerate().map(|(number, mut endpoints)| {
        rename(&mut endpoints.metadata, number);
        body("/api/v1", "endpoints", endpoints.metadata.namespace.clone(), &endpoints)
    });
    slices.chain(endpoints).collect()
}

fn rename(metadata: &mut ObjectMeta, number: usize) {
    let old = std::mem::take(metadata);
    *metadata = ObjectMeta {
        name: Some(format!("floor-{number}")),
        namespace: old.namespace,
        labels: old.labels,
        annotations: old.annotations,
        ..ObjectMeta::default()
    };
}

fn body<T: Message>(group: &str, resource: &str, namespace: Option<String>, object: &T) -> (String, Vec<u8>) {
    let path = format!("{group}/namespaces/{}/{resource}", namespace.unwrap_or_default());
    (path, wrap(T::API_VERSION, T::KIND, &object.encode()))
}
