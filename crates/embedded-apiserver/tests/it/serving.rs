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
