//! Requests with JSON, sent as they are: a typed client would drop unknown fields.

use std::path::Path;

use http::header::CONTENT_TYPE;
use kube::Client;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, Resource as _};
use serde::Deserialize as _;
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io";

/// A request; a patch is a merge patch, and null is no body.
pub fn request(method: &str, path: &str, body: &Value) -> http::Request<Vec<u8>> {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = http::Request::builder().method(method).uri(path).header(CONTENT_TYPE, content);
    request.body(body).expect("a request")
}

/// Sends a [request].
///
/// # Errors
/// If the API server refuses it, or cannot be reached.
pub async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value, kube::Error> {
    client.request(request(method, path, body)).await
}

/// The same for one that must succeed.
pub async fn must(client: &Client, method: &str, path: &str, body: &Value) -> Value {
    let answer = send(client, method, path, body).await;
    answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

/// The objects of a list, with their kind.
pub async fn list(client: &Client, path: &str) -> Vec<Value> {
    let mut list = must(client, "GET", path, &Value::Null).await;
    let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
    let mut items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    for item in &mut items {
        item["kind"] = kind.as_str().into();
        item["apiVersion"] = list["apiVersion"].clone();
    }
    items
}

/// Creates an object that names its kind.
///
/// # Errors
/// If the API server refuses it, for an unknown field too, or cannot be reached.
pub async fn create(client: &Client, object: &Value) -> Result<Value, kube::Error> {
    send(client, "POST", &format!("{}?fieldValidation=Strict", collection(object)), object).await
}

/// The documents of a YAML stream; a duplicate key is an error, which it is not for values of JSON.
pub fn documents(text: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(text).map(|document| {
        let object = serde_yaml::Value::deserialize(document).expect("an object in YAML, each key once");
        serde_json::to_value(object).expect("an object in JSON")
    });
    documents.collect()
}

/// The objects of a file.
pub fn manifest(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path);
    documents(&text.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The path at which an object is created.
pub fn collection(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    let version = text("/apiVersion").expect("a version");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = GroupVersionKind::gvk(group, version, text("/kind").expect("a kind"));
    DynamicObject::url_path(&ApiResource::from_gvk(&kind), text("/metadata/namespace"))
}

/// The binding of a Role of this namespace, or else of a `ClusterRole`.
pub fn binding(name: &str, namespace: Option<&str>, role: &str, subject: &Value) -> Value {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": format!("{kind}Binding"),
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [subject],
    })
}

/// A user as the subject of a binding.
pub fn user(name: &str) -> Value {
    json!({"apiGroup": RBAC, "kind": "User", "name": name})
}

/// A service account as the subject of a binding.
pub fn account(namespace: &str, name: &str) -> Value {
    json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
}
