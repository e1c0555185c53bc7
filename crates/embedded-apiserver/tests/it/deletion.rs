//! Deletion and what follows from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use embedded_apiserver::{ApiServer, Environment};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::support::{PODS, pod, send};

const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";

fn replica_set(name: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    })
}

/// A pod of each name, owned by a new `ReplicaSet`.
async fn owned(server: &ApiServer, names: &[&str]) {
    let (code, owner) = send(server, "POST", SETS, replica_set("rs")).await;
    assert_eq!(code, 201, "{owner}");
    for name in names {
        let mut pod = pod(name);
        pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "rs",
            "uid": owner["metadata"]["uid"],
        }]);
        let (code, status) = send(server, "POST", PODS, pod).await;
        assert_eq!(code, 201, "{status}");
    }
}

#[tokio::test]
async fn dependents_follow_their_owner() {
    let server = ApiServer::new();
    owned(&server, &["a", "b"]).await;
    send(&server, "POST", PODS, pod("other")).await;
    let (code, status) = send(&server, "DELETE", &format!("{SETS}/rs"), Value::Null).await;
    assert_eq!((code, &status["status"]), (200, &json!("Success")));
    let names: Vec<_> =
        server.objects("v1", "Pod").iter().map(|pod| pod["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["other"]);
}

#[tokio::test]
async fn without_garbage_collection_dependents_stay() {
    let server = ApiServer::builder().garbage_collection(false).build();
    owned(&server, &["a"]).await;
    send(&server, "DELETE", &format!("{SETS}/rs"), Value::Null).await;
    assert_eq!(server.objects("v1", "Pod").len(), 1);
}

/// The number of Endpoints after the deletion of their Service.
async fn endpoints_left(server: &ApiServer) -> usize {
    let service = json!({ "metadata": { "name": "s" }, "spec": { "ports": [{ "port": 80 }] } });
    send(server, "POST", "/api/v1/namespaces/default/services", service).await;
    send(server, "POST", ENDPOINTS, json!({ "metadata": { "name": "s" } })).await;
    let (code, deleted) = send(server, "DELETE", "/api/v1/namespaces/default/services/s", Value::Null).await;
    assert_eq!((code, &deleted["kind"]), (200, &json!("Service")));
    server.objects("v1", "Endpoints").len()
}

#[tokio::test]
async fn endpoints_stay_without_their_service() {
    assert_eq!(endpoints_left(&ApiServer::new()).await, 1);
}

#[tokio::test]
async fn endpoints_go_with_their_service_as_before_1_37_if_wanted() {
    let server = ApiServer::builder().deletion_of_endpoints(true).build();
    assert_eq!(endpoints_left(&server).await, 0);
}

#[tokio::test]
async fn a_namespace_takes_its_contents_along() {
    let server = ApiServer::new();
    send(&server, "POST", "/api/v1/namespaces", json!({ "metadata": { "name": "n" } })).await;
    let mut running = pod("a");
    running["spec"]["nodeName"] = "node".into();
    running["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let (code, created) = send(&server, "POST", "/api/v1/namespaces/n/pods", running).await;
    assert_eq!(code, 201, "{created}");
    let (code, namespace) = send(&server, "DELETE", "/api/v1/namespaces/n", Value::Null).await;
    assert_eq!((code, &namespace["status"]["phase"]), (200, &json!("Terminating")));

    let (code, status) = send(&server, "POST", "/api/v1/namespaces/n/pods", pod("b")).await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "pods \"b\" is forbidden: unable to create new content in namespace n because it is being terminated"
    );
    assert_eq!(status["details"]["causes"][0]["reason"], "NamespaceTerminating");

    let patch = json!({ "metadata": { "finalizers": null } });
    let (code, _) = send(&server, "PATCH", "/api/v1/namespaces/n/pods/a", patch).await;
    assert_eq!(code, 200);
    let (code, _) = send(&server, "GET", "/api/v1/namespaces/n", Value::Null).await;
    assert_eq!(code, 404);
}

/// A clock that counts how often it is read, which each attempt to delete does at least once.
#[derive(Clone, Default)]
struct CountedClock(Arc<AtomicU64>);

impl Environment for CountedClock {
    fn now(&self) -> Timestamp {
        self.0.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_second(1_000).unwrap()
    }

    fn random(&self) -> u64 {
        0
    }
}

/// Endpoints in the namespace `n`, which keep their finalizer, or have none.
async fn endpoints_in_n(server: &ApiServer, name: &str, waits: bool) {
    let finalizers = if waits { json!(["example.com/wait"]) } else { json!([]) };
    let endpoints = json!({ "metadata": { "name": name, "finalizers": finalizers } });
    let (code, created) = send(server, "POST", "/api/v1/namespaces/n/endpoints", endpoints).await;
    assert_eq!(code, 201, "{created}");
}

/// Takes the finalizer of Endpoints in the namespace `n`.
async fn release(server: &ApiServer, name: &str) {
    let path = format!("/api/v1/namespaces/n/endpoints/{name}");
    let (code, gone) = send(server, "PATCH", &path, json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(code, 200, "{gone}");
}

#[tokio::test]
async fn the_contents_of_a_namespace_are_deleted_once() {
    const COUNT: u64 = 20;
    let clock = CountedClock::default();
    let server = ApiServer::builder().environment(clock.clone()).build();
    send(&server, "POST", "/api/v1/namespaces", json!({ "metadata": { "name": "n" } })).await;
    for index in 0..COUNT {
        endpoints_in_n(&server, &format!("held-{index}"), true).await;
        endpoints_in_n(&server, &format!("free-{index}"), false).await;
    }
    let before = clock.0.load(Ordering::Relaxed);
    send(&server, "DELETE", "/api/v1/namespaces/n", Value::Null).await;
    let left = server.objects("v1", "Endpoints").len();
    for index in 0..COUNT {
        release(&server, &format!("held-{index}")).await;
    }
    assert_eq!(u64::try_from(left), Ok(COUNT));
    assert!(server.objects("v1", "Endpoints").is_empty());
    assert_eq!(server.objects("v1", "Namespace").len(), 4);
    // Two for each object, and one for each request, would do. In squares they are 1,000 and more.
    let reads = clock.0.load(Ordering::Relaxed) - before;
    assert!(reads < 10 * COUNT, "{reads}");
}

#[tokio::test]
async fn what_comes_late_into_a_namespace_goes_with_it() {
    let server = ApiServer::new();
    send(&server, "POST", "/api/v1/namespaces", json!({ "metadata": { "name": "n" } })).await;
    endpoints_in_n(&server, "held", true).await;
    send(&server, "DELETE", "/api/v1/namespaces/n", Value::Null).await;
    // As a request that was admitted before the deletion.
    for (kind, name) in [("Endpoints", "late"), ("ServiceAccount", "later")] {
        let metadata = json!({ "name": name, "namespace": "n" });
        server.load(&json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata })).unwrap();
    }
    release(&server, "held").await;
    assert!(server.objects("v1", "Endpoints").is_empty());
    assert!(server.objects("v1", "ServiceAccount").is_empty());
    let (code, _) = send(&server, "GET", "/api/v1/namespaces/n", Value::Null).await;
    assert_eq!(code, 404);
}

#[tokio::test]
async fn a_terminating_namespace_gets_no_tokens_and_bindings() {
    let server = ApiServer::new();
    send(&server, "POST", "/api/v1/namespaces", json!({ "metadata": { "name": "n" } })).await;
    let account = json!({ "metadata": { "name": "a" } });
    let token = json!({ "spec": {} });
    let binding = json!({ "metadata": { "name": "a" }, "target": { "kind": "Node", "name": "n" } });
    let tried = [("serviceaccounts", account, "token", token), ("pods", pod("a"), "binding", binding)];
    let path = |resource: &str| format!("/api/v1/namespaces/n/{resource}");
    for (resource, object, subresource, body) in &tried {
        let mut object = object.clone();
        object["metadata"]["finalizers"] = json!(["example.com/wait"]);
        let (code, created) = send(&server, "POST", &path(resource), object).await;
        assert_eq!(code, 201, "{created}");
        let mut other = body.clone();
        other["metadata"]["namespace"] = "default".into();
        let (code, status) =
            send(&server, "POST", &path(&format!("{resource}/a/{subresource}")), other).await;
        assert_eq!(code, 400);
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        assert_eq!(status["message"], message);
    }
    send(&server, "DELETE", "/api/v1/namespaces/n", Value::Null).await;
    for (resource, _, subresource, body) in &tried {
        let subresource = path(&format!("{resource}/a/{subresource}"));
        let (code, status) = send(&server, "POST", &subresource, body.clone()).await;
        assert_eq!(code, 403, "{status}");
        let cause = "unable to create new content in namespace n because it is being terminated";
        assert_eq!(status["message"], format!("{resource} \"a\" is forbidden: {cause}"));
        assert_eq!(status["details"]["causes"][0]["reason"], "NamespaceTerminating");
    }
}

/// As in Go, the number after the last one is the first one.
#[tokio::test]
async fn the_last_generation_is_followed_by_the_first() {
    let server = ApiServer::new();
    let metadata = json!({ "name": "e", "finalizers": ["example.com/wait"], "generation": i64::MAX });
    let (code, created) = send(&server, "POST", ENDPOINTS, json!({ "metadata": metadata })).await;
    assert_eq!((code, &created["metadata"]["generation"]), (201, &json!(i64::MAX)));
    let (code, marked) = send(&server, "DELETE", &format!("{ENDPOINTS}/e"), Value::Null).await;
    assert_eq!((code, &marked["metadata"]["generation"]), (200, &json!(i64::MIN)));
}
