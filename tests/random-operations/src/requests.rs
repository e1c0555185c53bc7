//! Requests and objects as JSON, the same for every client.

use http::Method;
use serde_json::{Value, json};

use crate::NAMESPACE;
use crate::operation::{Operation, PodStatus, Readiness};

/// A request; a patch is a merge patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: Method,
    pub path: String,
    /// Null if there is none.
    pub body: Value,
}

impl Request {
    /// Creates an object in this collection.
    pub fn create(collection: &str, object: Value) -> Self {
        Self { method: Method::POST, path: collection.to_owned(), body: object }
    }

    /// Patches the object of this path.
    pub fn patch(path: &str, patch: Value) -> Self {
        Self { method: Method::PATCH, path: path.to_owned(), body: patch }
    }

    /// Deletes the object of this path.
    pub fn delete(path: &str) -> Self {
        Self { method: Method::DELETE, path: path.to_owned(), body: Value::Null }
    }

    /// Deletes the pod of this path.
    pub fn delete_pod(path: &str, grace_seconds: u32) -> Self {
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace_seconds});
        Self { body: options, ..Self::delete(path) }
    }

    /// The path of the object's collection.
    pub fn collection(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(collection, _)| collection)
    }
}

impl Operation {
    /// The requests of the operation, in order; `now` is the time of conditions. A `PUT` of a missing object creates it: the
    /// client then sends the object to the collection.
    pub fn requests(&self, namespace: &str, now: &str) -> Vec<Request> {
        let all = |resource: &str| format!("/api/v1/namespaces/{namespace}/{resource}");
        let one = |resource: &str| format!("{}/{}", all(resource), self.name());
        let status = |status: &PodStatus| {
            Request::patch(&(one("pods") + "/status"), json!({"status": status.patch(now)}))
        };
        let node = format!("/api/v1/nodes/{}", self.name());
        match self {
            Self::CreateService { object, .. } => vec![Request::create(&all("services"), object.clone())],
            Self::ChangeService { patch, .. } => vec![Request::patch(&one("services"), patch.clone())],
            Self::DeleteService { .. } => vec![Request::delete(&one("services"))],
            Self::CreatePod { object, status: first, .. } => {
                vec![Request::create(&all("pods"), object.clone()), status(first)]
            }
            Self::BindPod { name, node } => {
                let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                    "target": {"kind": "Node", "name": node}});
                vec![Request::create(&(one("pods") + "/binding"), binding)]
            }
            Self::ChangePodStatus { status: next, .. } => vec![status(next)],
            Self::ChangePod { metadata, .. } => {
                vec![Request::patch(&one("pods"), json!({"metadata": metadata}))]
            }
            Self::TerminatePod { grace_seconds, .. } => {
                vec![Request::delete_pod(&one("pods"), *grace_seconds)]
            }
            Self::RemovePod { finalizer, .. } => {
                let without = json!({"metadata": {"finalizers": null}});
                let patch = finalizer.then(|| Request::patch(&one("pods"), without));
                std::iter::once(Request::delete_pod(&one("pods"), 0)).chain(patch).collect()
            }
            Self::CreateNode { name, zone, cpu, ready } => {
                let labels = zone.as_ref().map(|zone| json!({"topology.kubernetes.io/zone": zone}));
                let metadata = json!({"name": name, "labels": labels});
                let node = json!({"metadata": metadata, "status": node_status(*cpu, *ready)});
                vec![Request::create("/api/v1/nodes", node)]
            }
            Self::LabelNode { labels, .. } => {
                vec![Request::patch(&node, json!({"metadata": {"labels": labels}}))]
            }
            Self::ChangeNodeReadiness { cpu, ready, .. } => {
                vec![Request::patch(&(node + "/status"), json!({"status": node_status(*cpu, *ready)}))]
            }
            Self::DeleteNode { .. } => vec![Request::delete(&node)],
            Self::SetEndpoints { object, .. } => {
                vec![Request { method: Method::PUT, path: one("endpoints"), body: object.clone() }]
            }
            Self::DeleteEndpoints { .. } => vec![Request::delete(&one("endpoints"))],
        }
    }
}

/// The path of a kind in the workload's namespace.
pub fn path(resource: &str) -> String {
    let group = if resource == "endpointslices" { "apis/discovery.k8s.io/v1" } else { "api/v1" };
    format!("/{group}/namespaces/{NAMESPACE}/{resource}")
}

impl PodStatus {
    /// The status as a merge patch has it; `now` is the time of a condition.
    pub fn patch(&self, now: &str) -> Value {
        let mut status = json!({});
        if let Some(phase) = self.phase {
            status["phase"] = json!(phase);
        }
        if let Some(ips) = &self.ips {
            status["podIP"] = json!(ips.first());
            status["podIPs"] = ips.iter().map(|ip| json!({"ip": ip})).collect();
        }
        if let Some(ready) = self.ready {
            status["conditions"] = ready_condition(ready, now);
        }
        status
    }
}

fn ready_condition(ready: Readiness, now: &str) -> Value {
    let (status, reason) = match ready {
        Readiness::True => ("True", None),
        Readiness::False => ("False", Some("ContainersNotReady")),
        Readiness::Absent => return json!([]),
    };
    let condition = |kind: &str| match reason {
        None => json!({"type": kind, "status": status, "lastTransitionTime": now}),
        Some(reason) => json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": now}),
    };
    // A kubelet sets both, and gives a reason if they are false.
    json!([condition("Ready"), condition("ContainersReady")])
}

/// The status of a node.
pub fn node_status(cpu: u32, ready: bool) -> Value {
    let resources = json!({"cpu": cpu.to_string()});
    let ready = if ready { "True" } else { "False" };
    json!({"conditions": [{"type": "Ready", "status": ready}], "allocatable": resources, "capacity": resources})
}
