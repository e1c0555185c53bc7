//! A small cluster in which nothing is wrong, as JSON to edit.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::audit::{Audit, Finding, Options, audit};
use crate::snapshot::{Kind, Object, Snapshot};

pub(super) const SLICES: &str = "endpointslice-controller.k8s.io";
pub(super) const MIRROR: &str = "endpointslicemirroring-controller.k8s.io";
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";
pub(super) const HEADLESS: &str = "service.kubernetes.io/headless";
pub(super) const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
pub(super) const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
const CREATED: &str = "2026-01-01T00:00:00Z";

/// Objects by kind; all are in the namespace `shop`.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) services: Vec<Value>,
    pub(super) pods: Vec<Value>,
    pub(super) nodes: Vec<Value>,
    pub(super) slices: Vec<Value>,
    pub(super) endpoints: Vec<Value>,
    pub(super) options: Options,
}

impl Cluster {
    /// `web` with the pods `web-1` and `web-2`, and `db` with the custom Endpoints 10.9.0.1.
    pub(super) fn healthy() -> Self {
        Self {
            services: vec![
                service("web", json!({"selector": {"app": "web"}, "clusterIP": "10.96.0.1"})),
                service("db", json!({"clusterIP": "10.96.0.2"})),
            ],
            pods: vec![pod("web-1", "10.1.0.1"), pod("web-2", "10.1.0.2")],
            nodes: vec![json!({"metadata": {"name": "n1"}})],
            slices: vec![
                slice("web", SLICES, vec![endpoint("web-1", "10.1.0.1"), endpoint("web-2", "10.1.0.2")]),
                slice("db", MIRROR, vec![json!({"addresses": ["10.9.0.1"], "conditions": {"ready": true}})]),
            ],
            endpoints: vec![
                json!({
                    "metadata": metadata("web", json!({"endpoints.kubernetes.io/managed-by": "endpoint-controller"})),
                    "subsets": [{
                        "addresses": [address("web-1", "10.1.0.1"), address("web-2", "10.1.0.2")],
                        "ports": [port()],
                    }],
                }),
                json!({
                    "metadata": metadata("db", json!({})),
                    "subsets": [{"addresses": [{"ip": "10.9.0.1"}], "ports": [port()]}],
                }),
            ],
            options: Options::default(),
        }
    }

    /// All objects but those of the kinds that may not be read.
    pub(super) fn snapshot(&self, unreadable: &[Kind]) -> Snapshot {
        let now = "2026-06-01T00:00:00Z".parse().unwrap();
        let mut snapshot = Snapshot::new(now, unreadable.iter().copied());
        let objects = typed(&self.nodes, Object::Node)
            .chain(typed(&self.services, Object::Service))
            .chain(typed(&self.pods, Object::Pod))
            .chain(typed(&self.slices, Object::EndpointSlice))
            .chain(typed(&self.endpoints, Object::Endpoints));
        for object in objects.filter(|object| !unreadable.contains(&object.kind())) {
            snapshot.upsert(object);
        }
        snapshot
    }

    /// The findings of all rules.
    pub(super) fn all(&self) -> Audit {
        audit(&self.snapshot(&[]), &self.options)
    }

    pub(super) fn audit(&self) -> Audit {
        self.all().without_explained()
    }

    /// The findings as `rule severity Kind name`.
    pub(super) fn findings(&self) -> Vec<String> {
        self.audit().findings.iter().map(line).collect()
    }

    /// Moves the Service `web` and everything of it away, so that only what a test adds is left.
    pub(super) fn only_db(mut self) -> Self {
        let is_of_db =
            |object: &Value| object["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("db"));
        for list in [&mut self.services, &mut self.slices, &mut self.endpoints] {
            list.retain(is_of_db);
        }
        self
    }
}

pub(super) fn line(finding: &Finding) -> String {
    let Finding { rule, severity, object, .. } = finding;
    format!("{rule} {} {} {}", severity.name(), object.kind.name(), object.name)
}

fn typed<T: DeserializeOwned>(
    objects: &[Value],
    object: fn(Arc<T>) -> Object,
) -> impl Iterator<Item = Object> {
    objects.iter().map(move |json| object(Arc::new(serde_json::from_value(json.clone()).unwrap())))
}

pub(super) fn metadata(name: &str, labels: Value) -> Value {
    json!({
        "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "resourceVersion": "7",
        "creationTimestamp": CREATED, "labels": labels,
    })
}

pub(super) fn service(name: &str, spec: Value) -> Value {
    let ports = json!([{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]);
    let mut service = json!({
        "metadata": metadata(name, json!({})),
        "spec": {"type": "ClusterIP", "ipFamilies": ["IPv4"], "ports": ports},
    });
    service["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    service
}

pub(super) fn pod(name: &str, ip: &str) -> Value {
    json!({
        "metadata": metadata(name, json!({"app": "web"})),
        "spec": {"nodeName": "n1", "containers": []},
        "status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": CREATED}]},
    })
}

pub(super) fn port() -> Value {
    json!({"name": "http", "port": 8080, "protocol": "TCP"})
}

pub(super) fn address(pod: &str, ip: &str) -> Value {
    json!({"ip": ip, "nodeName": "n1", "targetRef": target(pod)})
}

fn target(pod: &str) -> Value {
    json!({"kind": "Pod", "namespace": "shop", "name": pod, "uid": format!("uid-{pod}")})
}

pub(super) fn endpoint(pod: &str, ip: &str) -> Value {
    json!({
        "addresses": [ip], "conditions": {"ready": true, "serving": true, "terminating": false},
        "nodeName": "n1", "targetRef": target(pod),
    })
}

/// A slice of a Service by this manager, of the name `SERVICE-a`.
pub(super) fn slice(service: &str, manager: &str, endpoints: Vec<Value>) -> Value {
    let labels = json!({SERVICE_NAME: service, MANAGED_BY: manager});
    let mut metadata = metadata(&format!("{service}-a"), labels);
    let kind = if manager == MIRROR { "Endpoints" } else { "Service" };
    metadata["ownerReferences"] = json!([{"apiVersion": "v1", "kind": kind, "name": service,
        "uid": format!("uid-{service}"), "controller": true, "blockOwnerDeletion": true}]);
    json!({"metadata": metadata, "addressType": "IPv4", "ports": [port()], "endpoints": endpoints})
}
