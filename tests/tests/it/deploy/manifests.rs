//! The files of `deploy/` as objects, and functions that create them in a cluster.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use kube::Client;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, Resource};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tests::binaries;
use tests::wait::{self, LIMIT};

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

/// The objects of a kustomization of `deploy/`, rendered by kubectl.
pub(crate) fn kustomization(path: &str) -> Vec<Value> {
    kustomize(&folder().join(path))
}

/// The objects of a kustomization of `deploy/` with some of its components.
pub(crate) fn with_components(path: &str, components: &[&str]) -> Vec<Value> {
    let here = tempfile::tempdir().unwrap();
    let up: PathBuf = here.path().canonicalize().unwrap().components().skip(1).map(|_| "..").collect();
    // kustomize refuses absolute paths.
    let relative = |path: &str| up.join(folder().join(path).strip_prefix("/").unwrap());
    let components: Vec<_> = components.iter().map(|name| relative(&format!("components/{name}"))).collect();
    let document = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [relative(path)], "components": components,
    });
    std::fs::write(here.path().join("kustomization.yaml"), document.to_string()).unwrap();
    kustomize(&here.path().canonicalize().unwrap())
}

fn kustomize(path: &Path) -> Vec<Value> {
    let kubectl = binaries::servers().kubectl().expect("kubectl, which hack/testenv/build builds");
    let output = Command::new(kubectl).arg("kustomize").arg(path).output().unwrap();
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    documents(std::str::from_utf8(&output.stdout).unwrap())
}

/// The specification of the Deployment's pods.
pub(crate) fn deployment() -> Value {
    pod(&kustomization("base"))
}

/// The specification of the pods of the only Deployment among objects.
pub(crate) fn pod(objects: &[Value]) -> Value {
    let mut deployments = objects.iter().filter(|object| text(object, "/kind") == "Deployment");
    let spec = deployments.next().unwrap()["spec"]["template"]["spec"].clone();
    assert!(deployments.next().is_none());
    spec
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

/// Waits until the authorizer has loaded all roles and bindings so far. It watches each of their four kinds, in order: one
/// that knows a new object of a kind knows all earlier ones.
pub(crate) async fn authorized(client: &Client) {
    static ROUND: AtomicU32 = AtomicU32::new(0);
    let name = format!("authorized-{}", ROUND.fetch_add(1, Ordering::Relaxed));
    for (kind, namespace) in [("Role", Some("default")), ("ClusterRole", None)] {
        let user = format!("{kind}-of-{name}");
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace},
            "rules": [{"apiGroups": [""], "resources": ["probes"], "verbs": ["get"]}],
        });
        create(client, &role).await.unwrap();
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"), "metadata": role["metadata"],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        });
        create(client, &binding).await.unwrap();
        let attributes = json!({"namespace": namespace, "verb": "get", "resource": "probes"});
        wait::until(&format!("the authorizer to know a {kind}"), LIMIT, async || {
            if is_allowed(client, &user, &attributes).await? { Ok(()) } else { Err("it does not".to_owned()) }
        })
        .await;
    }
}

/// Asks the authorizer about a request for a resource.
pub(crate) async fn is_allowed(client: &Client, user: &str, attributes: &Value) -> Result<bool, String> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    });
    let answer = post(client, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await?;
    Ok(answer["status"]["allowed"] == json!(true))
}

fn url(object: &Value) -> String {
    let version = text(object, "/apiVersion");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text(object, "/kind")));
    DynamicObject::url_path(&resource, object.pointer("/metadata/namespace").and_then(Value::as_str))
}
