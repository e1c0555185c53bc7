//! Requests and objects as JSON, the same for every client.

use http::Method;
use serde_json::{Value, json};

use crate::NAMESPACE;
use crate::operation::{PodStatus, Readiness};

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
