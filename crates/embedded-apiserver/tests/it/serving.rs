//! The server behind a listener.

use embedded_apiserver::{ApiServer, Tls, kubeconfig};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[tokio::test]
async fn https_serves_a_client_of_the_kubeconfig_and_ends_watches_at_shutdown() {
    let server = ApiServer::new();
    let tls = Tls::for_loopback().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let text = kubeconfig(&url, Some(tls.certificate()));
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
async fn requests_are_recorded_with_their_user() {
    let events = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&events);
    let server = ApiServer::builder()
        .token("secret", "system:kube-scheduler")
        .audit(move |event| seen.lock().unwrap().push(event.clone()))
        .build()
        .unwrap();
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
    let before = server.snapshot().unwrap();
    let version = server.version();
    super::support::send(&server, "POST", super::support::PODS, super::support::pod("a")).await;
    server.restore(&before, None).unwrap();
    assert_eq!(server.version(), version);
    assert!(server.objects("v1", "Pod").is_empty());
    assert_eq!(server.objects("v1", "Namespace").len(), 4);
    let copy = ApiServer::builder().snapshot(before.clone()).build().unwrap();
    assert_eq!(copy.snapshot().unwrap(), before);
}
