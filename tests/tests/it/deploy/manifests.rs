//! The files of `deploy/` as objects, and functions that create them in a cluster.

use std::path::{Path, PathBuf};

use kube::Client;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, Resource};
use serde::Deserialize as _;
use serde_json::Value;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("deploy")
}

/// The objects of a file, by its path in `deploy/`.
pub(crate) fn file(path: &str) -> Vec<Value> {
    read(&folder().join(path))
}

fn read(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path);
    documents(&text.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The documents of a YAML stream; a duplicate key is an error.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(text).map(|document| Value::deserialize(document).unwrap()).collect()
}

/// All objects that a kustomization lists. The only transformation that ours use is that of images.
pub(crate) fn kustomization(path: &str) -> Vec<Value> {
    resources(&folder().join(path))
}

fn resources(folder: &Path) -> Vec<Value> {
    let list = read(&folder.join("kustomization.yaml")).remove(0);
    let known = ["apiVersion", "kind", "resources", "images"];
    assert!(list.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{list}");
    let paths = list["resources"].as_array().unwrap().iter().map(|path| folder.join(path.as_str().unwrap()));
    paths.flat_map(|path| if path.is_dir() { resources(&path) } else { read(&path) }).collect()
}

pub(crate) fn deployment() -> Value {
    file("base/deployment.yaml").remove(0)
}

/// A string that must exist.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no {pointer} in {object}"))
}

/// `Kind namespace/name`, for messages and comparisons.
pub(crate) fn name(object: &Value) -> String {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    format!("{} {namespace}/{}", text(object, "/kind"), text(object, "/metadata/name"))
}

/// Makes the API server validate an object, unknown fields included.
pub(crate) async fn dry_run(client: &Client, object: &Value) -> Result<(), String> {
    post(client, &format!("{}?dryRun=All&fieldValidation=Strict", url(object)), object).await.map(drop)
}

pub(crate) async fn create(client: &Client, object: &Value) -> Result<(), String> {
    post(client, &format!("{}?fieldValidation=Strict", url(object)), object).await.map(drop)
}

/// Creates an object as it is: a typed client would drop unknown fields.
pub(crate) async fn post(client: &Client, url: &str, object: &Value) -> Result<Value, String> {
    let request = http::Request::post(url).header("Content-Type", "application/json");
    let request = request.body(serde_json::to_vec(object).unwrap()).unwrap();
    client.request(request).await.map_err(|error| error.to_string())
}

fn url(object: &Value) -> String {
    let version = text(object, "/apiVersion");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text(object, "/kind")));
    DynamicObject::url_path(&resource, object.pointer("/metadata/namespace").and_then(Value::as_str))
}
