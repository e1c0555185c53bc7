//! The files of `deploy/` as objects, and functions that create them in a cluster.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use kube::Client;
use serde_json::{Value, json};
use tests::binaries;
use tests::requests::{self, binding, create, documents};
use tests::wait::{self, LIMIT};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("deploy")
}

/// The objects of a file, by its path in `deploy/`.
pub(crate) fn file(path: &str) -> Vec<Value> {
    requests::manifest(&folder().join(path))
}

/// The objects of a kustomization of `deploy/`, rendered by kubectl.
pub(crate) fn kustomization(path: &str) -> Vec<Value> {
    kustomize(&folder().join(path))
}

/// The objects of a kustomization of `deploy/` with some of its components.
pub(crate) fn with_components(path: &str, components: &[&str]) -> Vec<Value> {
    with_images(path, components, &json!([]))
}

/// The same with names of images.
pub(crate) fn with_images(path: &str, components: &[&str], images: &Value) -> Vec<Value> {
    let here = tempfile::tempdir().unwrap();
    let up: PathBuf = here.path().canonicalize().unwrap().components().skip(1).map(|_| "..").collect();
    // kustomize refuses absolute paths.
    let relative = |path: &str| up.join(folder().join(path).strip_prefix("/").unwrap());
    let components: Vec<_> = components.iter().map(|name| relative(&format!("components/{name}"))).collect();
    let document = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [relative(path)], "components": components, "images": images,
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
pub(crate) async fn dry_run(client: &Client, object: &Value) -> Result<Value, kube::Error> {
    let path = format!("{}?dryRun=All&fieldValidation=Strict", requests::collection(object));
    requests::send(client, "POST", &path, object).await
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
        create(client, &binding(&name, namespace, &name, &requests::user(&user))).await.unwrap();
        let attributes = json!({"namespace": namespace, "verb": "get", "resource": "probes"});
        wait::until(&format!("the authorizer to know a {kind}"), LIMIT, async || {
            match is_allowed(client, &user, &attributes).await {
                Ok(true) => Ok(()),
                answer => Err(format!("{answer:?}")),
            }
        })
        .await;
    }
}

/// Asks the authorizer about a request for a resource.
pub(crate) async fn is_allowed(client: &Client, user: &str, attributes: &Value) -> Result<bool, kube::Error> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = requests::send(client, "POST", path, &review).await?;
    Ok(answer["status"]["allowed"] == json!(true))
}
