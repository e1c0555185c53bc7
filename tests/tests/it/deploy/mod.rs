//! `deploy/`: a real API server accepts the manifests, the program works with exactly the permissions that they grant, and
//! upstream accepts the flags that disable its built-in controllers.

mod built_ins;
mod chart;
mod components;
mod dead_webhook;
mod forge;
pub(crate) mod manifests;
mod monitoring;
mod page;
mod permissions;
mod priority;
pub(crate) mod site;
mod static_pod;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tests::binaries;
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::LeaderElection;
use tests::requests::{create, documents, manifest};
use tests::wait::{self, LIMIT};

use manifests::{dry_run, file, kustomization, name, text, with_components, with_images};

/// For leaders that are not to lose their Lease, on a busy machine either: their ends release it.
pub(crate) const PATIENT: LeaderElection = LeaderElection {
    lease_duration: Duration::from_secs(90),
    renew_deadline: Duration::from_secs(60),
    retry_period: Duration::from_millis(500),
};

const OVERLAYS: [&str; 3] = ["base", "overlays/static-pod", "overlays/monitoring"];
/// In an order in which kustomize can apply them: a certificate changes the monitors.
const COMPONENTS: [&str; 6] = [
    "network-policy",
    "openshift",
    "page",
    "pod-monitor",
    "service-account-credentials",
    "serving-certificate",
];
const STATIC_POD: &str = "overlays/static-pod/endpoint-controller-manager.yaml";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_server_accepts_all_manifests() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let client = cluster.client();
    serve_monitors(&client).await;
    let mut objects: Vec<Value> = OVERLAYS.iter().flat_map(|overlay| kustomization(overlay)).collect();
    objects.extend(with_components("base", &COMPONENTS));
    objects.extend(with_components("overlays/static-pod", &["pod-monitor", "openshift"]));
    objects.extend(file(STATIC_POD));
    objects.extend(file("disable-built-ins/hold.yaml"));
    objects.extend(file("shadow/shadow.yaml"));
    objects.extend(kustomization("pod-network-controller"));
    for object in &objects {
        // The namespace and the priority classes are created shortly after the server is ready.
        wait::until(&name(object), LIMIT, || dry_run(&client, object)).await;
    }
    let present: BTreeSet<String> = std::fs::read_dir(manifests::folder().join("components"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(present, COMPONENTS.map(str::to_owned).into());
    let kinds: BTreeSet<&str> = objects.iter().map(|object| text(object, "/kind")).collect();
    for kind in ["Deployment", "FlowSchema", "Pod", "PodMonitor", "PrometheusRule", "RoleBinding", "Lease"] {
        assert!(kinds.contains(kind), "no {kind} among {kinds:?}");
    }
    // Guards against a server that does not validate: an unknown field is refused.
    let mut wrong =
        kustomization("base").into_iter().find(|object| text(object, "/kind") == "Deployment").unwrap();
    wrong["spec"]["replica"] = json!(2);
    let refusal = dry_run(&client, &wrong).await.unwrap_err().to_string();
    assert!(refusal.contains(r#"unknown field "spec.replica""#), "{refusal}");
    restricted(&client).await;
}

/// The Deployment's pods meet the strictest of Kubernetes' Pod Security Standards.
async fn restricted(client: &kube::Client) {
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "strict", "labels": labels}});
    create(client, &namespace).await.unwrap();
    let mut pod =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "strict", "namespace": "strict"}});
    pod["spec"] = manifests::deployment();
    // In some clusters system-cluster-critical is reserved for the system's namespaces, which this test is not about.
    wait::until("a restricted pod", LIMIT, || dry_run(client, &pod)).await;
    pod["spec"]["securityContext"]["seccompProfile"] = Value::Null;
    let refusal = dry_run(client, &pod).await.unwrap_err().to_string();
    assert!(refusal.contains("violates PodSecurity"), "{refusal}");
}

/// prometheus-operator's own definitions of its kinds.
async fn serve_monitors(client: &kube::Client) {
    let folder = binaries::tool("prometheus-operator").join("example/prometheus-operator-crd");
    for kind in ["servicemonitors", "podmonitors", "prometheusrules"] {
        let file = folder.join(format!("monitoring.coreos.com_{kind}.yaml"));
        create(client, &manifest(&file)[0]).await.unwrap();
    }
}

/// What the manifests name until an operator names an image. No registry can have it: RFC 6761 reserves `.invalid`.
const IMAGE: &str = "set-your-image.invalid/endpoint-controller-manager";

fn image() -> String {
    format!("{IMAGE}:{}", env!("CARGO_PKG_VERSION"))
}

/// The images of a kustomization of the operator's reach those of components, unlike an edit of `base/kustomization.yaml`.
#[test]
fn the_documented_kustomization_names_the_image_of_each_pod() {
    let readme = std::fs::read_to_string(manifests::folder().join("README.md")).unwrap();
    let block =
        readme.split("```").find_map(|part| part.strip_prefix("yaml\n").filter(|it| it.contains("images:")));
    let images = documents(block.unwrap()).remove(0)["images"].take();
    let objects = with_images("base", &COMPONENTS, &images);
    let pods = objects.iter().filter_map(|object| object.pointer("/spec/template/spec/containers/0/image"));
    let image = format!("REGISTRY/endpoint-controller-manager:{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(pods.collect::<Vec<_>>(), [&json!(image), &json!(image)]);
}

#[test]
fn manifests_name_an_image_of_this_version_that_no_registry_has() {
    let kustomization = &file("base/kustomization.yaml")[0];
    assert_eq!(text(kustomization, "/images/0/name"), IMAGE);
    assert_eq!(text(&manifests::deployment(), "/containers/0/image"), image());
    assert_eq!(text(&file(STATIC_POD)[0], "/spec/containers/0/image"), image());
    for path in ["shadow/shadow.yaml", "components/page/page.yaml"] {
        let objects = file(path);
        let deployment = objects.iter().find(|object| text(object, "/kind") == "Deployment").unwrap();
        assert_eq!(text(deployment, "/spec/template/spec/containers/0/image"), image(), "{path}");
    }
}
