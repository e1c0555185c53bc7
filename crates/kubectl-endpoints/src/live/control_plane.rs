//! Who may write, and in which version the API server is: asked for now and then, since a Lease changes every two seconds.

use std::sync::Arc;
use std::time::Duration;

use endpoint_controller_manager::version;
use endpoint_diagnostics_page::follow::Follower;
use endpoint_diagnostics_page::{Facts, Leader};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube_api::ApiClient;
use kube_api::time::sleep;
use serde::Deserialize;

/// The time between two requests for the same object.
const PERIOD: Duration = Duration::from_secs(15);
/// The Leases of the controllers that may write slices, in the namespace of kube-controller-manager.
const LEASES: [&str; 2] = ["kube-controller-manager", version::NAME];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}

/// Tells a follower about the control plane, for ever. What the caller may not read is left out.
pub(crate) async fn control_plane(client: ApiClient, follower: Arc<Follower>) {
    loop {
        let kubernetes = client.get_json::<Version>("/version").await.ok().map(|version| version.git_version);
        let mut leaders = vec![];
        for name in LEASES {
            let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}");
            if let Ok(lease) = client.get_json::<Lease>(&path).await {
                leaders.push(leader(name, &lease, Timestamp::now()));
            }
        }
        follower.set_facts(Facts { program: version::VERSION.to_owned(), kubernetes, leaders });
        sleep(PERIOD).await;
    }
}

/// The holder of a Lease, as far as clocks agree.
fn leader(name: &str, lease: &Lease, now: Timestamp) -> Leader {
    let spec = lease.spec.as_ref();
    let holder = spec.and_then(|spec| spec.holder_identity.clone()).filter(|holder| !holder.is_empty());
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
    let renewed = spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
    let end = renewed.and_then(|time| time.checked_add(SignedDuration::from_secs(seconds.into())).ok());
    Leader { lease: name.to_owned(), current: holder.is_some() && end.is_some_and(|end| end > now), holder }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_leader_is_one_until_its_lease_expires() {
        let spec = json!({"holderIdentity": "cp-1", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"});
        let lease: Lease = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        let current = |time: &str| leader("x", &lease, time.parse().unwrap()).current;
        assert_eq!((current("2026-01-01T00:00:14Z"), current("2026-01-01T00:00:15Z")), (true, false));
        let free: Lease =
            serde_json::from_value(json!({"metadata": {}, "spec": {"holderIdentity": ""}})).unwrap();
        let free = leader("x", &free, Timestamp::UNIX_EPOCH);
        assert_eq!((free.holder, free.current), (None, false));
    }
}
