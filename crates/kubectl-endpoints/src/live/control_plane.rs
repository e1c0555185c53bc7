//! The holders of Leases and the version of the API server: read now and then, since a Lease changes every two seconds.

use std::sync::Arc;
use std::time::Duration;

use endpoint_controller_manager::version;
use endpoint_diagnostics_page::follow::Follower;
use endpoint_diagnostics_page::{Facts, Leader};
use jiff::Timestamp;
use kube_api::ApiClient;
use kube_api::time::sleep;
use serde::Deserialize;

use super::gather::off_the_runtime;
use crate::lease::{self, Lease, State, state};

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
            if let Ok(Some(lease)) = lease::read(&client, name, Timestamp::now()).await {
                leaders.push(leader(name, lease));
            }
        }
        let facts = Facts { program: version::VERSION.to_owned(), kubernetes, leaders };
        off_the_runtime(&follower, |follower| follower.set_facts(facts)).await;
        sleep(PERIOD).await;
    }
}

/// The holder of a Lease, as far as clocks agree.
fn leader(name: &str, lease: Lease) -> Leader {
    let current = matches!(state(Some(&lease)), State::Held(_));
    Leader { lease: name.to_owned(), current, holder: Some(lease.holder).filter(|holder| !holder.is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_is_one_until_its_lease_expires() {
        let of = |is_expired| Lease { holder: "cp-1".to_owned(), is_expired, ..Lease::default() };
        assert_eq!((leader("x", of(false)).current, leader("x", of(true)).current), (true, false));
        let free = leader("x", Lease::default());
        assert_eq!((free.holder, free.current), (None, false));
    }
}
