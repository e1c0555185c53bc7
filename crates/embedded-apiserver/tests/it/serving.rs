//! The server behind a listener.

use embedded_apiserver::{ApiServer, KnownObjects, Tls, kubeconfig};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::support::{PODS, pod, send};

#[test]
fn the_first_objects_are_those_of_a_new_cluster() {
    let server = ApiServer::new();
    let names = |kind| -> Vec<_> {
        server.objects("v1", kind).iter().map(|object| object["metadata"]["name"].clone()).collect()
    };
    assert_eq!(names("Namespace"), ["default", "kube-node-lease", "kube-public", "kube-system"]);
    assert_eq!(names("Service"), ["kubernetes"]);
    assert_eq!(server.objects("v1", "Service")[0]["spec"]["clusterIP"], "10.96.0.1");
}

#[tokio::test]
async fn https_serves_a_client_of_the_kubeconfig_and_ends_watches_at_shutdown() {
    let server = ApiServer::new();
    let tls = Tls::for_loopback().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let text = kubeconfig("any", &url, Some(tls.certificate()));
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn({
        let server = server.clone();
        async move { server.serve(listener, Some(tls), async { drop(stopped.await) }).await }
    });
    let file: Kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(Client::try_from(config).unwrap());
    let list = namespaces.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items.len(), 4);

    let version = list.metadata.resource_version.unwrap();
    let watch = namespaces.watch(&WatchParams::default(), &version).await.unwrap();
    stop.send(()).unwrap();
    assert_eq!(watch.filter(|event| std::future::ready(event.is_ok())).count().await, 0);
    serving.await.unwrap();
}

#[tokio::test]
async fn a_server_that_requires_its_token_answers_no_other_client() {
    let server = ApiServer::builder().token("secret", "me").require_token().build();
    let tls = Tls::for_loopback().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let authority = tls.certificate().to_owned();
    let serving = tokio::spawn({
        let server = server.clone();
        async move { server.serve(listener, Some(tls), std::future::pending()).await }
    });
    let get = async |token: &str, path: &str| {
        let file = Kubeconfig::from_yaml(&kubeconfig(token, &url, Some(&authority))).unwrap();
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        match Client::try_from(config).unwrap().request_text(request).await {
            Ok(text) => (200, text),
            Err(kube::Error::Api(status)) => (status.code, status.reason.clone()),
            Err(error) => panic!("{error}"),
        }
    };
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    super::support::send(&server, "POST", accounts, json!({"metadata": {"name": "robot"}})).await;
    let token = format!("{accounts}/robot/token");
    let (code, issued) = super::support::send(&server, "POST", &token, json!({"spec": {}})).await;
    assert_eq!(code, 201, "{issued}");
    let of_account = issued["status"]["token"].as_str().unwrap();
    for path in ["/api/v1/namespaces", "/openapi/v3", "/version", "/nowhere", "/healthzz"] {
        for token in ["embedded", "", of_account] {
            assert_eq!(get(token, path).await, (401, "Unauthorized".to_owned()), "{token} {path}");
        }
        assert_ne!(get("secret", path).await.0, 401, "{path}");
    }
    for path in ["/healthz", "/livez/ping", "/readyz"] {
        assert_eq!(get("embedded", path).await, (200, "ok".to_owned()), "{path}");
    }
    serving.abort();
}

#[tokio::test]
async fn requests_are_recorded_with_their_user() {
    let events = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&events);
    let server = ApiServer::builder()
        .token("secret", "system:kube-scheduler")
        .audit(move |event| seen.lock().unwrap().push(event.clone()))
        .build();
    let headers =
        [("authorization", "Bearer secret"), ("content-type", "application/json"), ("user-agent", "me/1")];
    let body = r#"{"metadata":{"generateName":"a-"}}"#;
    let path = "/api/v1/namespaces/default/endpoints";
    let (code, _, _) = super::support::exchange(&server, "POST", path, &headers, body).await;
    assert_eq!(code, 201);
    let events = events.lock().unwrap();
    let event = events.last().unwrap();
    assert_eq!((event.verb, &*event.resource, event.code), ("create", "endpoints", 201));
    assert_eq!((&*event.user, &*event.user_agent), ("system:kube-scheduler", "me/1"));
    assert!(event.name.starts_with("a-") && event.name.len() == 7);
    assert_eq!(event.request_object.as_ref().unwrap()["metadata"]["generateName"], "a-");
}

#[tokio::test]
async fn a_snapshot_is_restored_under_a_running_server() {
    let server = ApiServer::new();
    let before = server.snapshot();
    let version = server.version();
    send(&server, "POST", PODS, pod("a")).await;
    server.restore(&before, None);
    assert_eq!(server.version(), version);
    assert!(server.objects("v1", "Pod").is_empty());
    assert_eq!(server.objects("v1", "Namespace").len(), 4);
    let copy = ApiServer::builder().first_objects(false).build();
    copy.restore(&before, Some(1_000_000));
    assert_eq!(copy.version(), 999_999);
    for kind in ["Namespace", "Service"] {
        assert_eq!(copy.objects("v1", kind), server.objects("v1", kind));
    }
}

#[tokio::test]
async fn known_objects_are_those_of_the_server_after_each_change() {
    let server = ApiServer::new();
    let mut known = KnownObjects::default();
    let mut look = |what: &str| -> Vec<_> {
        let trees = server.objects_known("v1", "Pod", &mut known);
        let objects: Vec<_> = trees.iter().map(|tree| Value::clone(tree)).collect();
        assert_eq!(objects, server.objects("v1", "Pod"), "{what}");
        trees.iter().map(std::sync::Arc::as_ptr).collect()
    };
    for name in ["b", "d"] {
        send(&server, "POST", PODS, pod(name)).await;
    }
    let backup = server.snapshot();
    let [b, d] = *look("two pods") else { panic!("two pods") };
    for name in ["a", "c", "e"] {
        send(&server, "POST", PODS, pod(name)).await;
    }
    let five = look("three more");
    assert_eq!((five[1], five[3]), (b, d), "no other tree of what has not changed");
    send(&server, "PATCH", &format!("{PODS}/d"), json!({ "metadata": { "labels": { "x": "y" } } })).await;
    send(&server, "DELETE", &format!("{PODS}/a"), Value::Null).await;
    assert_eq!(look("one changed, one gone")[0], b);
    // The versions of the backup are given to other objects now.
    server.restore(&backup, None);
    send(&server, "POST", PODS, pod("a")).await;
    assert_eq!(look("another past").len(), 3);
}
