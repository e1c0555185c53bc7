//! kube-controller-manager and ours contend for one Lease, and each respects the other.

use jiff::Timestamp;

use super::fixture::Fixture;

const UPSTREAM: &str = "kube-controller-manager";

/// Four changes of leaders: both ways, by a release and by a crash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_and_ours_take_turns() {
    let mut fixture = Fixture::start().await;
    let election = fixture.short();
    let upstream = fixture.upstream(election).await;
    let mut leader = fixture.next_leader("").await;
    let mut ours = fixture.ours("ours", election).await;
    // All changes are handled: upstream releases the Lease while its controllers may still be writing.
    fixture.world.settle().await;
    let end = Timestamp::now();
    upstream.stop().await;
    leader = fixture.next_leader(&leader).await;
    fixture.report("upstream released", end);

    fixture.keep_changing_a_pod();
    let mut upstream = fixture.upstream(election).await;
    fixture.longer_than_a_lease(election).await;
    let end = Timestamp::now();
    ours.process().kill();
    leader = fixture.next_leader(&leader).await;
    fixture.report(&format!("ours killed, lease of {:?}", election.lease_duration), end);

    let ours = fixture.ours("ours-again", election).await;
    fixture.longer_than_a_lease(election).await;
    let end = Timestamp::now();
    upstream.process().kill();
    leader = fixture.next_leader(&leader).await;
    fixture.report(&format!("upstream killed, lease of {:?}", election.lease_duration), end);

    let _upstream = fixture.upstream(election).await;
    let end = Timestamp::now();
    assert_eq!(ours.stop().await.code(), Some(0));
    fixture.next_leader(&leader).await;
    fixture.report("ours released", end);

    let terms = fixture.terms();
    let programs: Vec<&str> = terms.iter().map(|term| term.by.as_str()).collect();
    assert_eq!(programs, [UPSTREAM, "ours", UPSTREAM, "ours-again", UPSTREAM]);
    assert!(terms.iter().all(|term| term.first_write.is_some()), "{terms:#?}");
    let released: Vec<bool> = terms.iter().map(|term| term.released.is_some()).collect();
    assert_eq!(released, [true, false, false, true, false]);
}
