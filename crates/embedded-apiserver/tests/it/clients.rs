//! `kube::Client` on the server in process.

use embedded_apiserver::ApiServer;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use serde_json::json;

fn client(server: &ApiServer) -> Client {
    Client::new(server.clone(), "default")
}

#[tokio::test]
async fn a_client_creates_reads_changes_watches_and_deletes_a_pod() {
    let server = ApiServer::new();
    let pods: Api<Pod> = Api::default_namespaced(client(&server));
    let list = pods.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let events = pods.watch(&WatchParams::default().timeout(20), &version).await.unwrap();

    let pod: Pod = serde_json::from_value(super::support::pod("a")).unwrap();
    let created = pods.create(&PostParams::default(), &pod).await.unwrap();
    assert!(created.metadata.uid.is_some());
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "app": "web" } } }));
    let patched = pods.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.metadata.labels.unwrap()["app"], "web");
    let mut replacement = pods.get("a").await.unwrap();
    replacement.metadata.annotations = Some([("x".to_owned(), "y".to_owned())].into());
    let replaced = pods.replace("a", &PostParams::default(), &replacement).await.unwrap();
    assert_eq!(replaced.metadata.annotations.unwrap()["x"], "y");
    pods.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(pods.get_opt("a").await.unwrap().is_none());

    let kinds: Vec<_> = events
        .take(5)
        .map(|event| match event.unwrap() {
            WatchEvent::Added(_) => "added",
            WatchEvent::Modified(_) => "modified",
            WatchEvent::Deleted(_) => "deleted",
            _ => "other",
        })
        .collect()
        .await;
    assert_eq!(kinds, ["added", "modified", "modified", "modified", "deleted"]);
}

#[tokio::test]
async fn the_first_objects_are_those_of_a_new_cluster() {
    let server = ApiServer::new();
    let services: Api<Service> = Api::all(client(&server));
    let kubernetes = services.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(kubernetes.len(), 1);
    let spec = kubernetes[0].spec.clone().unwrap();
    assert_eq!(spec.cluster_ip.as_deref(), Some("10.96.0.1"));
    let names: Vec<_> =
        server.objects("v1", "Namespace").iter().map(|n| n["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
}
