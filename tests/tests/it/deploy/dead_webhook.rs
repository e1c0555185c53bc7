//! An admission webhook that accepts and never answers, with failurePolicy Ignore: the API server waits until the webhook's
//! timeout, and then stores the object.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use scripted_api::pki::Authority;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A webhook server that reads requests and answers none.
pub(crate) struct Webhook {
    address: SocketAddr,
    authority: String,
    _tasks: JoinSet<()>,
}

impl Webhook {
    pub(crate) async fn start() -> Self {
        let authority = Authority::new("webhook");
        let acceptor = authority.issue(&Ipv4Addr::LOCALHOST.to_string()).acceptor(&[]);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(hold(listener, acceptor));
        Self { address, authority: authority.certificate_pem, _tasks: tasks }
    }

    /// Makes the API server wait for it before it writes objects of this kind.
    pub(crate) fn configuration(
        &self,
        resource: &str,
        namespace: &str,
        timeout: Duration,
    ) -> MutatingWebhookConfiguration {
        let authority = k8s_openapi::ByteString(self.authority.clone().into_bytes());
        let rule = json!({
            "apiGroups": ["*"], "apiVersions": ["v1"], "resources": [resource],
            "operations": ["CREATE", "UPDATE"],
        });
        let webhook = json!({
            "name": "dead.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Ignore",
            "timeoutSeconds": timeout.as_secs(),
            "clientConfig": {"url": format!("https://{}/", self.address), "caBundle": authority},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [rule],
        });
        serde_json::from_value(json!({"metadata": {"name": "dead"}, "webhooks": [webhook]})).unwrap()
    }
}

async fn hold(listener: TcpListener, acceptor: TlsAcceptor) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        connections.spawn(async move {
            let Ok(_stream) = acceptor.accept(stream).await else { return };
            std::future::pending().await
        });
    }
}
