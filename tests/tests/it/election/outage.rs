//! Two replicas of ours, and no API server for 30 s.

use std::time::Duration;

use jiff::Timestamp;
use tests::manager::LeaderElection;
use tokio::time::{Instant, sleep_until};

use super::fixture::Fixture;
use super::replicas::{RESOURCES, assert_both_wrote, assert_lost};

/// Twice the lease duration.
const OUTAGE: Duration = Duration::from_secs(30);

/// With upstream's default durations.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_api_server_a_leader_exits_and_a_standby_stays() {
    let mut fixture = Fixture::embedded().await;
    fixture.keep_changing_a_pod();
    let mut first = fixture.ours("first", LeaderElection::DEFAULT).await;
    let one = fixture.next_leader("").await;
    let mut second = fixture.ours("second", LeaderElection::DEFAULT).await;
    fixture.world.sync().await;
    let (end, over) = (Timestamp::now(), Instant::now() + OUTAGE);
    fixture.cluster.stop_apiserver();
    assert_lost(&mut first, "lease kube-system/endpoint-controller-manager was not renewed within 10s").await;
    let seconds = Timestamp::now().duration_since(end).as_secs_f64();
    println!("API server away, default durations: the leader is gone after {seconds:.2} s");
    second.process().alive().unwrap();
    assert_eq!(second.get("/healthz").await.0, 200);

    // No replica can hold the Lease now. One that still believed so would write as soon as the API server is back.
    sleep_until(over).await;
    second.process().alive().unwrap();
    let mark = fixture.cluster.audit().mark();
    let back = Timestamp::now();
    fixture.cluster.start_apiserver().await;
    fixture.next_leader(&one).await;
    fixture.report("API server started again after 30 s, default durations", back);
    assert_both_wrote(&fixture);
    second.process().alive().unwrap();

    // The new leader has the Lease before it knows the changes that it missed, and waits for them.
    let requests = fixture.cluster.audit().since(mark);
    let first_write = fixture.terms()[1].first_write.unwrap();
    for resource in RESOURCES {
        let watches = requests.iter().filter(|r| r.verb == "watch" && r.resource == resource);
        let watches = watches.filter(|r| r.program() == "second").map(|r| r.received);
        let resumed = watches.min().unwrap_or_else(|| panic!("no watch of {resource}"));
        assert!(resumed < first_write, "{resource}: watched from {resumed}, wrote at {first_write}");
    }
}
