//! The exit of the process, and the state of the Lease after it.

use std::time::Duration;

use serde_json::json;
use tests::manager::LeaderElection;
use tests::wait::{self, LIMIT};

use super::fixture::Fixture;
use super::replicas::assert_lost;

/// Long enough that no Lease is lost by chance, and that a release without an answer is still under way when the test
/// continues.
const PATIENT: LeaderElection = LeaderElection {
    lease_duration: Duration::from_secs(600),
    renew_deadline: Duration::from_secs(500),
    retry_period: Duration::from_millis(500),
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_codes() {
    let mut fixture = Fixture::start().await;

    // A user who takes the Lease without waiting holds it.
    let mut leader = fixture.ours("first", PATIENT).await;
    fixture.next_leader("").await;
    fixture.edit_lease(json!({"holderIdentity": "another-holder", "leaseDurationSeconds": 3600})).await;
    assert_lost(&mut leader, "lease kube-system/endpoint-controller-manager was taken by another-holder")
        .await;

    // A standby does not change it.
    let theirs = fixture.leases().get(LeaderElection::LEASE).await.unwrap();
    let standby = fixture.ours("second", PATIENT).await;
    assert_eq!(standby.stop().await.code(), Some(0));
    assert_eq!(fixture.leases().get(LeaderElection::LEASE).await.unwrap(), theirs);

    // A leader releases it.
    fixture.edit_lease(json!({"holderIdentity": ""})).await;
    let leader = fixture.ours("third", PATIENT).await;
    fixture.next_leader("").await;
    assert_eq!(leader.stop().await.code(), Some(0));
    let released = fixture.lease().await;
    assert_eq!((released.holder_identity.as_deref(), released.lease_duration_seconds), (Some(""), Some(1)));

    // A second signal does not wait for that.
    let mut leader = fixture.ours("fourth", PATIENT).await;
    fixture.next_leader("").await;
    fixture.cluster.freeze_apiserver().await;
    leader.process().signal("TERM");
    wait::until("the end to begin", LIMIT, async || match leader.get("/readyz?verbose").await {
        (500, text) if text.contains("[-]controllers failed") => Ok(()),
        (status, text) => Err(format!("{status} {text}")),
    })
    .await;
    leader.process().alive().unwrap();
    leader.process().signal("TERM");
    assert_eq!(leader.process().ended(LIMIT).await.code(), Some(1));
}
