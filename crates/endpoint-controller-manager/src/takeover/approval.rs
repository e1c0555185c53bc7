//! The approval of a takeover: SIGUSR2, or an annotation of the Lease, for which kubectl is enough.

use std::future::pending;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube_api::time::sleep;
use kube_api::{ApiClient, error_chain};
use tokio::sync::watch;
use tracing::debug;

/// The annotation of the Lease. Its value is the identity of the holder whose takeover it approves, so that it counts for no
/// later one.
pub(super) const ANNOTATION: &str = "endpoint-controller-manager/takeover-approved";

/// The time between two reads of the Lease.
const INTERVAL: Duration = Duration::from_secs(5);

/// A Lease that may be annotated.
pub(crate) struct ApprovingLease {
    client: ApiClient,
    path: String,
}

impl ApprovingLease {
    /// The Lease of this name, read by a client that may get it.
    pub(crate) fn new(client: ApiClient, namespace: &str, name: &str) -> Self {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}");
        Self { client, path }
    }

    /// Waits until the Lease approves its holder. That is this process, or the takeover fails for another reason.
    async fn approves(&self) {
        loop {
            match self.client.get::<Lease>(&self.path).await {
                Ok(lease) if approves(&lease) => return,
                Ok(_) => {}
                Err(error) => debug!(err = error_chain(&error), "Cannot read the Lease for an approval"),
            }
            sleep(INTERVAL).await;
        }
    }
}

fn approves(lease: &Lease) -> bool {
    let approved = lease.metadata.annotations.as_ref().and_then(|all| all.get(ANNOTATION));
    let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_ref());
    approved.is_some_and(|approved| !approved.is_empty() && Some(approved) == holder)
}

/// Waits for an approval, and returns its form.
pub(super) async fn approval(
    signals: &mut watch::Receiver<()>,
    lease: Option<&ApprovingLease>,
) -> &'static str {
    let annotated = async {
        match lease {
            Some(lease) => lease.approves().await,
            None => pending().await,
        }
    };
    tokio::select! {
        Ok(()) = signals.changed() => "SIGUSR2",
        () = annotated => "annotation of the Lease",
    }
}

#[cfg(test)]
mod tests {
    use embedded_apiserver::ApiServer;
    use futures::FutureExt as _;
    use http::{Method, Request};
    use kube_api::Encoding;
    use serde_json::{Value, json};
    use tokio::time::advance;

    use super::*;

    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

    async fn send(client: &kube::Client, method: Method, path: &str, body: Value) {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header("content-type", kind);
        client.request::<Value>(request.body(body.to_string().into_bytes()).unwrap()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_lease_approves_its_holder_alone() {
        let client = kube::Client::new(ApiServer::new(), "default");
        let lease = ApprovingLease::new(
            ApiClient::new(client.clone(), Encoding::Protobuf, "test"),
            "kube-system",
            "manager",
        );
        let (signal, mut signals) = watch::channel(());
        let mut approval = Box::pin(approval(&mut signals, Some(&lease)));
        assert_eq!((&mut approval).now_or_never(), None, "no Lease");
        let spec = json!({"holderIdentity": "host_2"});
        send(&client, Method::POST, LEASES, json!({"metadata": {"name": "manager"}, "spec": spec})).await;
        for (value, expected) in
            [("host_1", None), ("true", None), ("", None), ("host_2", Some("annotation of the Lease"))]
        {
            let metadata = json!({"metadata": {"annotations": {ANNOTATION: value}}});
            send(&client, Method::PATCH, &format!("{LEASES}/manager"), metadata).await;
            advance(INTERVAL).await;
            let given = tokio::time::timeout(INTERVAL, &mut approval).await;
            assert_eq!(given.ok(), expected, "{value:?}");
        }
        drop(approval);

        signal.send_replace(());
        assert_eq!(super::approval(&mut signals, None).await, "SIGUSR2");
    }
}
