//! Builders of API objects in JSON.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::NAMESPACE;

/// A Service that selects `app: NAME` and has one TCP port, with `changes` merged in.
#[must_use]
pub fn service(name: &str, changes: Value) -> Value {
    let object = json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"),
            "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"],
            "selector": {"app": name}, "ports": [{"port": 80, "protocol": "TCP", "targetPort": 8080}]},
    });
    merged(object, changes)
}

/// A running pod of the Service that its name begins with, on `node-1`, with these addresses.
#[must_use]
pub fn pod(name: &str, addresses: &[&str], ready: bool) -> Value {
    let app = name.rsplit_once('-').map_or(name, |(app, _)| app);
    let ips: Vec<Value> = addresses.iter().map(|ip| json!({"ip": ip})).collect();
    json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"), "labels": {"app": app}},
        "spec": {"nodeName": "node-1", "containers": []},
        "status": {"phase": "Running", "podIP": addresses.first(), "podIPs": ips,
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
    })
}

/// An object of the API from JSON.
#[must_use]
pub fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Sets a label of a slice.
pub fn set_label(slice: &mut EndpointSlice, key: &str, value: &str) {
    slice.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

/// Merges `changes` into an object. A null is kept: decoders read it as an absent field.
#[must_use]
pub fn merged(mut object: Value, changes: Value) -> Value {
    merge(&mut object, changes);
    object
}

fn merge(into: &mut Value, changes: Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, change) in changes {
                merge(into.entry(key).or_insert(Value::Null), change);
            }
        }
        (into, changes) => *into = changes,
    }
}
