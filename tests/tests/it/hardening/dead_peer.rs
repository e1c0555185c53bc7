//! The API server's machine loses power behind a load balancer: connections stay open, and no bytes arrive on them.

use std::time::Duration;

use scripted_api::balancer::NewConnections;
use tests::manager::LeaderElection;
use tests::wait::LIMIT;

use super::fixture::{Fixture, change, kind, measured, patience};

/// The time that upstream needs: an HTTP/2 ping after 30 s of silence, and a timeout of 15 s for its answer.
const BOUND: Duration = Duration::from_secs(45);
/// Longer than the detection takes.
const OUTAGE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_peer_is_noticed_in_time() {
    let fixture = Fixture::behind_a_proxy(|options| options).await;
    fixture.proxy.blackhole(NewConnections::Forwarded);
    let took = change(&fixture.world, "web", false, patience(LIMIT)).await.unwrap();
    measured("change after the peer of all connections died", took);
    assert!(took <= fixture.calm.after(BOUND), "{took:.1?}");
}

/// The connections of leader election are dead as well, and its deadline is shorter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_peer_does_not_cost_the_lease() {
    let leader_election = Some(LeaderElection::DEFAULT);
    let mut fixture =
        Fixture::behind_a_proxy(|options| tests::manager::ManagerOptions { leader_election, ..options })
            .await;
    // A second machine of the same balancer dies later: connections pooled meanwhile are dead again.
    for ready in [false, true] {
        fixture.proxy.blackhole(NewConnections::Forwarded);
        let result = change(&fixture.world, "web", ready, patience(LIMIT)).await;
        fixture.manager.process().alive().unwrap();
        let took = result.unwrap();
        measured("change after the peer of a leader's connections died", took);
        assert!(took <= fixture.calm.after(BOUND), "{} after {took:.1?}", kind().name());
    }
}

/// New connections are also accepted and lead nowhere, as behind a balancer without a working server: a client that
/// waits on such a connection must notice that it is dead as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_made_while_every_peer_is_dead_time_out() {
    let fixture = Fixture::behind_a_proxy(|options| options).await;
    fixture.proxy.blackhole(NewConnections::Swallowed);
    // By then ours has closed the old connections, and waits for new ones.
    let outage = async {
        tokio::time::sleep(OUTAGE).await;
        fixture.proxy.forward_new_connections();
    };
    let (took, ()) = tokio::join!(change(&fixture.world, "web", false, patience(LIMIT)), outage);
    let took = took.unwrap().saturating_sub(OUTAGE);
    measured("change in an outage of 30 s in which connections hang, after its end", took);
    assert!(took <= fixture.calm.after(BOUND), "{took:.1?}");
}
