//! kube-controller-manager and ours contend for one Lease, and each respects the other.

use jiff::Timestamp;

use super::stage::{SHORT, Stage};

const UPSTREAM: &str = "kube-controller-manager";

/// Four changes of leaders: both ways, by a release and by a crash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_and_ours_take_turns() {
    let mut stage = Stage::set().await;
    let upstream = stage.upstream(SHORT).await;
    let mut leader = stage.next_leader("").await;
    let mut ours = stage.ours("ours", SHORT).await;
    // Nothing more to write: upstream releases the Lease while its controllers may still be at work.
    stage.world.settle().await;
    let end = Timestamp::now();
    upstream.stop().await;
    leader = stage.next_leader(&leader).await;
    stage.report("upstream released", end);

    stage.stir();
    let mut upstream = stage.upstream(SHORT).await;
    stage.longer_than_a_lease(SHORT).await;
    let end = Timestamp::now();
    ours.process().kill();
    leader = stage.next_leader(&leader).await;
    stage.report("ours killed, lease of 7 s", end);

    let ours = stage.ours("ours-again", SHORT).await;
    stage.longer_than_a_lease(SHORT).await;
    let end = Timestamp::now();
    upstream.process().kill();
    leader = stage.next_leader(&leader).await;
    stage.report("upstream killed, lease of 7 s", end);

    let _upstream = stage.upstream(SHORT).await;
    let end = Timestamp::now();
    assert_eq!(ours.stop().await.code(), Some(0));
    stage.next_leader(&leader).await;
    stage.report("ours released", end);

    let terms = stage.terms();
    let programs: Vec<&str> = terms.iter().map(|term| term.by.as_str()).collect();
    assert_eq!(programs, [UPSTREAM, "ours", UPSTREAM, "ours-again", UPSTREAM]);
    assert!(terms.iter().all(|term| term.first_write.is_some()), "{terms:#?}");
    let released: Vec<bool> = terms.iter().map(|term| term.released.is_some()).collect();
    assert_eq!(released, [true, false, false, true, false]);
}
