//! The samples of pods, Services and nodes, as the API server encodes them.

use embedded_apiserver::ApiServer;
use http::header::ACCEPT;
use http_body_util::BodyExt as _;
use kube::Client;
use kube_protobuf::Unknown;
use serde_json::{Value, json};

use crate::template::{Mark, Template};
use crate::wire::PROTOBUF;
use crate::world::{World, first_version, zone_of};

/// Templates of what controllers only read.
#[derive(Debug)]
pub(crate) struct Samples {
    ready_pod: Template,
    unready_pod: Template,
    service: Template,
    node: Template,
}

const fn mark(text: &'static str, offset: usize, width: usize, number: usize) -> Mark {
    Mark { text, offset, width, number }
}

const SERVICE_NAME: Mark = mark("svc-987654", 4, 6, 1);
const NAMESPACE: Mark = mark("ns-87650", 3, 5, 2);
const NODE: Mark = mark("node-76540", 5, 5, 3);
const VERSION: Mark = mark("7654321", 0, 7, 5);

/// The three changing octets of an address, each from 100 to 199, show six digits of a number.
const fn octets(text: &'static str, first: usize) -> [Mark; 3] {
    [mark(text, 4, 2, first), mark(text, 8, 2, first + 1), mark(text, 12, 2, first + 2)]
}

const POD_MARKS: &[Mark] = &[
    mark("987654987654", 0, 12, 0),
    // The ReplicaSet's uid, of which each Service has one.
    mark("123456123456", 0, 12, 1),
    SERVICE_NAME,
    NAMESPACE,
    NODE,
    mark("6c8f9d7b5c-zx765", 13, 3, 4),
    VERSION,
    octets("10.165.143.121", 6)[0],
    octets("10.165.143.121", 6)[1],
    octets("10.165.143.121", 6)[2],
    octets("12.155.133.111", 9)[0],
    octets("12.155.133.111", 9)[1],
    octets("12.155.133.111", 9)[2],
];

const SERVICE_MARKS: &[Mark] = &[
    mark("987654987654", 0, 12, 1),
    SERVICE_NAME,
    NAMESPACE,
    VERSION,
    octets("11.165.143.121", 6)[0],
    octets("11.165.143.121", 6)[1],
    octets("11.165.143.121", 6)[2],
];

const NODE_MARKS: &[Mark] = &[
    mark("987654987654", 0, 12, 3),
    NODE,
    mark("zone-8", 5, 1, 4),
    VERSION,
    octets("12.155.133.111", 6)[0],
    octets("12.155.133.111", 6)[1],
    octets("12.155.133.111", 6)[2],
];

fn halves(number: usize) -> [u64; 3] {
    [number / 10_000 % 100, number / 100 % 100, number % 100].map(|part| part as u64)
}

impl Samples {
    /// Encodes the samples with the embedded API server.
    pub(crate) async fn new() -> Self {
        let parse = |text| serde_json::from_str::<Value>(text).expect("a sample in JSON");
        let pod = parse(include_str!("pod.json"));
        let mut unready = pod.clone();
        make_unready(&mut unready);
        let (service, node) = (parse(include_str!("service.json")), parse(include_str!("node.json")));
        Self {
            ready_pod: Template::new(encoded(&pod, "pods").await, POD_MARKS),
            unready_pod: Template::new(encoded(&unready, "pods").await, POD_MARKS),
            service: Template::new(encoded(&service, "services").await, SERVICE_MARKS),
            node: Template::new(encoded(&node, "nodes").await, NODE_MARKS),
        }
    }

    pub(crate) fn pod(&self, world: &World, pod: usize, ready: bool, version: u64, out: &mut Vec<u8>) {
        let (service, node) = (world.service_of(pod), world.node_of(pod));
        let [high, middle, low] = halves(pod);
        let [node_high, node_middle, node_low] = halves(node);
        let template = if ready { &self.ready_pod } else { &self.unready_pod };
        let place = pod % world.pods_per_service;
        let [pod, service_index, namespace, node, place] =
            [pod, service, world.namespace_of(service), node, place].map(|number| number as u64);
        let numbers = [
            pod,
            service_index,
            namespace,
            node,
            place,
            version,
            high,
            middle,
            low,
            node_high,
            node_middle,
            node_low,
        ];
        template.fill(&numbers, out);
    }

    pub(crate) fn service(&self, world: &World, service: usize, out: &mut Vec<u8>) {
        let [high, middle, low] = halves(service);
        let namespace = world.namespace_of(service) as u64;
        let numbers = [0, service as u64, namespace, 0, 0, first_version(service), high, middle, low];
        self.service.fill(&numbers, out);
    }

    pub(crate) fn node(&self, node: usize, out: &mut Vec<u8>) {
        let [high, middle, low] = halves(node);
        let zone = zone_of(node) as u64;
        self.node.fill(&[0, 0, 0, node as u64, zone, first_version(node), high, middle, low], out);
    }
}

fn make_unready(pod: &mut Value) {
    for condition in pod["status"]["conditions"].as_array_mut().expect("conditions") {
        if condition["type"] == "Ready" || condition["type"] == "ContainersReady" {
            condition["status"] = json!("False");
            condition["lastTransitionTime"] = json!("2026-11-20T09:00:00Z");
        }
    }
    pod["status"]["containerStatuses"][0]["ready"] = json!(false);
}

/// The message of an object, as an API server that stores it sends it.
async fn encoded(object: &Value, resource: &str) -> Vec<u8> {
    let builder = ApiServer::builder().first_objects(false).garbage_collection(false);
    let server = builder.build();
    // Its first object gets the version of the sample, which is one of the marks.
    let version = object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
    server.restore(&server.snapshot(), version);
    server.load(object).expect("an object that can be stored");
    let request = http::Request::get(format!("/api/v1/{resource}")).header(ACCEPT, PROTOBUF);
    let request = request.body(kube::client::Body::empty()).expect("a request");
    let answer = Client::new(server, "default").send(request).await.expect("an answer");
    let body = answer.into_body().collect().await.expect("a list").to_bytes();
    let list = Unknown::parse(&body).expect("an envelope").raw;
    let list = kube_protobuf::List::parse(list).expect("a list");
    list.items().next().expect("an object").expect("an object that can be read").to_vec()
}
