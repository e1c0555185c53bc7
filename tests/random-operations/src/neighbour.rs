//! Other clients that change the controllers' objects, and a Service with its neighbours that no client touches.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use crate::operation::{PodStatus, Readiness};
use crate::requests::{Request, node_status, path};
use crate::{CONTROLLERS, MANAGED_BY, NAMESPACE, SERVICE_NAME};

/// The Service whose first pods no operation touches: they must stay reachable all along. Its node has the same name.
pub const BEDROCK: &str = "bedrock";
/// The number of these pods.
pub const BEDROCK_PODS: usize = 3;

/// A Service with many pods, whose slices other clients delete and edit.
pub const CROWD: &str = "crowd";

/// The namespace of another tenant, in which many Services come at once.
pub const TENANT: &str = "tenant";

/// The names of objects of other controllers for that Service, which no controller may change: a slice, and Endpoints.
pub const FOREIGN: [&str; 2] = ["foreign-slice", "foreign-endpoints"];

/// An act of another client on an object of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interference {
    /// Empties it.
    Edit,
    Delete,
    /// Changes or removes the label that names its controller or its Service.
    Relabel,
    /// Removes its owner reference.
    Owner,
    /// Deletes it, and creates one of the same name and content.
    Recreate,
    /// Replaces it by itself, which the API server does not store.
    Nothing,
}

/// Creates the Service [`BEDROCK`], its node and its pods, and the objects of [`FOREIGN`].
pub fn bedrock(now: &str) -> Vec<Request> {
    let spec =
        json!({"selector": {"app": BEDROCK}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]});
    let labels = json!({SERVICE_NAME: BEDROCK, MANAGED_BY: "someone.example"});
    let slice = json!({"metadata": {"name": FOREIGN[0], "labels": labels}, "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.3.0.1"]}], "ports": []});
    // Without the annotation, a start deletes Endpoints without a Service, as upstream does.
    let annotations = json!({"control-plane.alpha.kubernetes.io/leader": "{}"});
    let endpoints = json!({"metadata": {"name": FOREIGN[1], "annotations": annotations},
        "subsets": [{"addresses": [{"ip": "10.3.0.2"}]}]});
    let node = json!({"metadata": {"name": BEDROCK}, "status": node_status(2, true)});
    let service = json!({"metadata": {"name": BEDROCK}, "spec": spec});
    let mut requests =
        vec![Request::create("/api/v1/nodes", node), Request::create(&path("services"), service)];
    requests.extend((0..BEDROCK_PODS).flat_map(|number| bedrock_pod(number, now)));
    requests.push(Request::create(&path("endpointslices"), slice));
    requests.push(Request::create(&path("endpoints"), endpoints));
    requests
}

/// Creates a ready pod of [`BEDROCK`].
pub fn bedrock_pod(number: usize, now: &str) -> [Request; 2] {
    pod(BEDROCK, number, format!("10.2.0.{}", number + 1), now)
}

/// Creates the Service [`CROWD`].
pub fn crowd() -> Request {
    let spec = json!({"selector": {"app": CROWD}, "ports": [{"name": "http", "port": 80}]});
    Request::create(&path("services"), json!({"metadata": {"name": CROWD}, "spec": spec}))
}

/// Creates a ready pod of [`CROWD`], on the node of [`BEDROCK`].
pub fn crowd_pod(number: usize, now: &str) -> [Request; 2] {
    pod(CROWD, number, format!("10.4.{}.{}", number / 250, number % 250 + 1), now)
}

/// Makes a pod of [`CROWD`] ready, or not.
pub fn crowd_readiness(number: usize, ready: bool, now: &str) -> Request {
    readiness(CROWD, number, ready, now)
}

/// Creates the namespace [`TENANT`].
pub fn tenant() -> Request {
    Request::create("/api/v1/namespaces", json!({"metadata": {"name": TENANT}}))
}

/// Creates a Service of [`TENANT`], and its ready pod on the node of [`BEDROCK`].
pub fn tenant_service(number: usize, now: &str) -> Vec<Request> {
    let name = format!("{TENANT}-{number}");
    let spec = json!({"selector": {"app": name}, "ports": [{"name": "http", "port": 80}]});
    let service = Request::create(&path("services"), json!({"metadata": {"name": name}, "spec": spec}));
    let pod = pod(&name, 0, format!("10.5.{}.{}", number / 250, number % 250 + 1), now);
    std::iter::once(service).chain(pod).map(of_tenant).collect()
}

/// Makes the pod of that Service stop being ready.
pub fn tenant_unready(number: usize, now: &str) -> Request {
    of_tenant(readiness(&format!("{TENANT}-{number}"), 0, false, now))
}

fn of_tenant(request: Request) -> Request {
    let own = format!("/namespaces/{NAMESPACE}/");
    Request { path: request.path.replace(&own, &format!("/namespaces/{TENANT}/")), ..request }
}

/// Makes a pod of a Service ready, or not.
fn readiness(service: &str, number: usize, ready: bool, now: &str) -> Request {
    let ready = Some(if ready { Readiness::True } else { Readiness::False });
    let status = PodStatus { ready, ..PodStatus::default() };
    let path = format!("{}/{service}-{number}/status", path("pods"));
    Request::patch(&path, json!({"status": status.patch(now)}))
}

fn pod(service: &str, number: usize, address: String, now: &str) -> [Request; 2] {
    let name = format!("{service}-{number}");
    let spec = json!({"nodeName": BEDROCK, "containers": [{"name": "main", "image": "none"}]});
    let metadata = json!({"name": name, "labels": {"app": service}});
    let ips = Some(vec![address]);
    let status = PodStatus { phase: Some("Running"), ips, ready: Some(Readiness::True) };
    [
        Request::create(&path("pods"), json!({"metadata": metadata, "spec": spec})),
        Request::patch(&format!("{}/{name}/status", path("pods")), json!({"status": status.patch(now)})),
    ]
}

/// The objects of ours that another client may change so, with their resource.
pub fn victims(
    what: Interference,
    slices: impl IntoIterator<Item = Arc<Value>>,
    endpoints: impl IntoIterator<Item = Arc<Value>>,
) -> Vec<(&'static str, Arc<Value>)> {
    let is_ours = |slice: &Arc<Value>| {
        let labels = &slice["metadata"]["labels"];
        // A slice without an owner is replaced, and its endpoints must stay reachable meanwhile.
        CONTROLLERS.iter().any(|name| labels[MANAGED_BY] == *name)
            && (labels[SERVICE_NAME] != BEDROCK || what == Interference::Owner)
    };
    let is_managed = |object: &Arc<Value>| {
        let metadata = &object["metadata"];
        metadata["labels"]["endpoints.kubernetes.io/managed-by"] == "endpoint-controller"
            && metadata["name"] != BEDROCK
    };
    let slices = slices.into_iter().filter(is_ours).map(|slice| ("endpointslices", slice));
    slices.chain(endpoints.into_iter().filter(is_managed).map(|object| ("endpoints", object))).collect()
}

/// The Service that a slice is of, or that has the name of Endpoints.
pub fn service(object: &Value) -> &str {
    let metadata = &object["metadata"];
    metadata["labels"][SERVICE_NAME].as_str().or_else(|| metadata["name"].as_str()).unwrap_or_default()
}

/// The name of an object.
pub fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// The requests of another client on this object; `pick` chooses among several ways.
pub fn interfere(what: Interference, pick: usize, resource: &str, object: &Value) -> Vec<Request> {
    let collection = path(resource);
    let path = format!("{collection}/{}", name(object));
    let metadata = match what {
        Interference::Edit if resource == "endpoints" => {
            return vec![Request::patch(&path, json!({"subsets": null}))];
        }
        Interference::Edit => return vec![Request::patch(&path, json!({"endpoints": []}))],
        Interference::Delete => return vec![Request::delete(&path)],
        Interference::Relabel => json!({"labels": match pick / 7 % 3 {
            0 => json!({MANAGED_BY: "someone"}),
            1 => json!({MANAGED_BY: null}),
            _ => json!({SERVICE_NAME: "front", "endpoints.kubernetes.io/managed-by": null}),
        }}),
        Interference::Owner => json!({"ownerReferences": null}),
        Interference::Nothing => return vec![Request { method: Method::PUT, path, body: object.clone() }],
        Interference::Recreate => {
            let mut object = object.clone();
            if let Some(metadata) = object["metadata"].as_object_mut() {
                for field in ["resourceVersion", "uid", "managedFields", "generation", "creationTimestamp"] {
                    metadata.remove(field);
                }
            }
            return vec![Request::delete(&path), Request::create(&collection, object)];
        }
    };
    vec![Request::patch(&path, json!({"metadata": metadata}))]
}
