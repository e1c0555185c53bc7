//! Two of ours, and no API server for half a minute.

use std::time::Duration;

use jiff::Timestamp;
use tests::manager::LeaderElection;
use tokio::time::{Instant, sleep_until};

use super::replicas::{RESOURCES, assert_both_wrote, assert_lost};
use super::stage::Stage;

/// Twice as long as a lease.
const OUTAGE: Duration = Duration::from_secs(30);

/// With upstream's default durations.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_api_server_a_leader_ends_and_a_standby_stays() {
    let mut stage = Stage::set().await;
    stage.stir();
    let mut first = stage.ours("first", LeaderElection::DEFAULT).await;
    let one = stage.next_leader("").await;
    let mut second = stage.ours("second", LeaderElection::DEFAULT).await;
    stage.world.sync().await;
    let (end, over) = (Timestamp::now(), Instant::now() + OUTAGE);
    stage.cluster.stop_apiserver();
    assert_lost(&mut first, "lease kube-system/endpoint-controller-manager was not renewed within 10s").await;
    let seconds = Timestamp::now().duration_since(end).as_secs_f64();
    println!("API server away, default durations: the leader is gone after {seconds:.2} s");
    second.process().alive().unwrap();
    assert_eq!(second.get("/healthz").await.0, 200);

    // Nobody can have the Lease now; whoever would believe so writes as soon as somebody listens.
    sleep_until(over).await;
    second.process().alive().unwrap();
    let mark = stage.cluster.audit().mark();
    let back = Timestamp::now();
    stage.cluster.start_apiserver().await;
    stage.next_leader(&one).await;
    stage.report("API server started again after 30 s, default durations", back);
    assert_both_wrote(&stage);
    second.process().alive().unwrap();

    // It has the Lease before it knows what it missed, and waits for that.
    let requests = stage.cluster.audit().since(mark);
    let first_write = stage.terms()[1].first_write.unwrap();
    for resource in RESOURCES {
        let watches = requests.iter().filter(|r| r.verb == "watch" && r.resource == resource);
        let watches = watches.filter(|r| r.program() == "second").map(|r| r.received);
        let resumed = watches.min().unwrap_or_else(|| panic!("no watch of {resource}"));
        assert!(resumed < first_write, "{resource}: watched from {resumed}, wrote at {first_write}");
    }
}
