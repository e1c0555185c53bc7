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
    use serde_json::json;

    use super::*;

    #[test]
    fn the_lease_approves_its_holder_alone() {
        for (value, holder, expected) in [
            ("host_1", "host_2", false),
            ("true", "host_2", false),
            ("", "", false),
            ("host_2", "host_2", true),
        ] {
            let lease =
                json!({"metadata": {"annotations": {ANNOTATION: value}}, "spec": {"holderIdentity": holder}});
            assert_eq!(approves(&serde_json::from_value(lease).unwrap()), expected, "{value:?}");
        }
        assert!(!approves(&Lease::default()));
    }
}
