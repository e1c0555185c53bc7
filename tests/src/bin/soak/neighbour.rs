//! Other clients that change the controllers' objects and the Lease, as those of the simulator do.

use expected_objects::{CONTROLLERS, Objects};
use http::Method;
use jiff::Timestamp;
use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::{Value, json};
use tests::manager::LeaderElection;

use crate::access::{Access, path};
use crate::fault::Fault;

/// The Service whose pods no operation touches.
const BEDROCK: &str = "bedrock";
const BEDROCK_PODS: usize = 3;

/// Creates that Service, its pods, and objects of other controllers for it, which no controller may change.
pub(crate) async fn move_in(access: &Access) {
    access.must(&Method::POST, "/api/v1/nodes", &json!({"metadata": {"name": BEDROCK}})).await;
    let spec =
        json!({"selector": {"app": BEDROCK}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]});
    let service = json!({"metadata": {"name": BEDROCK}, "spec": spec});
    access.must(&Method::POST, &path("services"), &service).await;
    for number in 0..BEDROCK_PODS {
        let name = format!("{BEDROCK}-{number}");
        let spec = json!({"nodeName": BEDROCK, "containers": [{"name": "main", "image": "none"}]});
        let metadata = json!({"name": name, "labels": {"app": BEDROCK}});
        access.must(&Method::POST, &path("pods"), &json!({"metadata": metadata, "spec": spec})).await;
        let ip = format!("10.2.0.{}", number + 1);
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let status = json!({"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": ready});
        access
            .must(&Method::PATCH, &format!("{}/{name}/status", path("pods")), &json!({"status": status}))
            .await;
    }
    let labels = json!({SERVICE_NAME: BEDROCK, MANAGED_BY: "someone.example"});
    let foreign = json!({"metadata": {"name": "foreign-slice", "labels": labels}, "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.3.0.1"]}], "ports": []});
    access.must(&Method::POST, &path("endpointslices"), &foreign).await;
    // Without the annotation, a start deletes Endpoints without a Service, as upstream does.
    let annotations = json!({"control-plane.alpha.kubernetes.io/leader": "{}"});
    let foreign = json!({"metadata": {"name": "foreign-endpoints", "annotations": annotations},
        "subsets": [{"addresses": [{"ip": "10.3.0.2"}]}]});
    access.must(&Method::POST, &path("endpoints"), &foreign).await;
}

/// Objects of others that are gone.
pub(crate) fn evicted(objects: &Objects) -> Vec<String> {
    let mut gone = Vec::new();
    if !objects.slices.contains_key("foreign-slice") {
        gone.push("foreign-slice is gone".to_owned());
    }
    if !objects.endpoints.contains_key("foreign-endpoints") {
        gone.push("foreign-endpoints are gone".to_owned());
    }
    gone
}

/// Changes the Lease, or one of the controllers' objects, whose name it returns. Refusals do not matter: the object may
/// be gone.
pub(crate) async fn interfere(access: &Access, fault: Fault, pick: usize) -> Option<String> {
    let lease =
        format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{}", LeaderElection::LEASE);
    match fault {
        Fault::LeaseStolen => {
            let now = format!("{:.6}", Timestamp::now());
            let spec = json!({"holderIdentity": "thief", "leaseDurationSeconds": 15, "renewTime": now});
            access.send(&Method::PATCH, &lease, &json!({"spec": spec})).await;
        }
        Fault::LeaseDeleted => drop(access.send(&Method::DELETE, &lease, &Value::Null).await),
        Fault::LeaseEdited => {
            let edited = json!({"metadata": {"annotations": {"edited": pick.to_string()}}});
            access.send(&Method::PATCH, &lease, &edited).await;
        }
        _ => return change(access, fault, pick).await,
    }
    None
}

/// Our objects, in an order that is the same on both sides.
fn ours(objects: Objects, fault: Fault) -> Vec<(&'static str, Value)> {
    let is_ours = |slice: &Value| {
        let labels = &slice["metadata"]["labels"];
        // A slice without an owner is replaced, and its endpoints must stay reachable meanwhile.
        let allowed = labels[SERVICE_NAME] != BEDROCK || fault == Fault::ForeignOwner;
        CONTROLLERS.iter().any(|name| labels[MANAGED_BY] == *name) && allowed
    };
    let is_managed = |object: &Value| {
        let metadata = &object["metadata"];
        metadata["labels"]["endpoints.kubernetes.io/managed-by"] == "endpoint-controller"
            && metadata["name"] != BEDROCK
    };
    let slices = objects.slices.into_values().filter(is_ours).map(|slice| ("endpointslices", slice));
    let endpoints = objects.endpoints.into_values().filter(is_managed).map(|object| ("endpoints", object));
    let mut ours: Vec<_> = slices.chain(endpoints).collect();
    ours.sort_by_cached_key(|(resource, object)| {
        let labels = &object["metadata"]["labels"];
        let of = if *resource == "endpoints" { &object["metadata"]["name"] } else { &labels[SERVICE_NAME] };
        format!("{of} {resource} {} {}", labels[MANAGED_BY], object["addressType"])
    });
    ours
}

async fn change(access: &Access, fault: Fault, pick: usize) -> Option<String> {
    let mut ours = ours(access.read().await, fault);
    if ours.is_empty() {
        return None;
    }
    let index = pick % ours.len();
    let (resource, mut object) = ours.swap_remove(index);
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let collection = path(resource);
    let path = format!("{collection}/{name}");
    match fault {
        Fault::ForeignEdit => {
            let field =
                if resource == "endpoints" { json!({"subsets": null}) } else { json!({"endpoints": []}) };
            access.send(&Method::PATCH, &path, &field).await;
        }
        Fault::ForeignDelete => drop(access.send(&Method::DELETE, &path, &Value::Null).await),
        Fault::ForeignRelabel => {
            let labels = match pick / 7 % 3 {
                0 => json!({MANAGED_BY: "someone"}),
                1 => json!({MANAGED_BY: null}),
                _ => json!({SERVICE_NAME: "front", "endpoints.kubernetes.io/managed-by": null}),
            };
            access.send(&Method::PATCH, &path, &json!({"metadata": {"labels": labels}})).await;
        }
        Fault::ForeignOwner => {
            access.send(&Method::PATCH, &path, &json!({"metadata": {"ownerReferences": null}})).await;
        }
        _ => {
            access.send(&Method::DELETE, &path, &Value::Null).await;
            if let Some(metadata) = object["metadata"].as_object_mut() {
                for field in ["resourceVersion", "uid", "managedFields", "generation", "creationTimestamp"] {
                    metadata.remove(field);
                }
            }
            access.send(&Method::POST, &collection, &object).await;
        }
    }
    Some(name)
}
