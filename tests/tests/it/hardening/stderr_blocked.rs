//! stderr is a pipe that is not read, as under a log collector that hangs.

use std::time::{Duration, Instant};

use tests::cluster::Cluster;
use tests::manager::{Controller, LeaderElection, Manager, ManagerOptions};
use tests::process::Environment;
use tests::scenario::World;
use tests::wait::{Calm, LIMIT};

use super::fixture::{change, measured, serve};
use crate::election::short;

const CHANGES: usize = 50;
const BOUND: Duration = Duration::from_secs(10);

/// A Service with a ready pod, and the time of a write.
async fn prepare(cluster: &Cluster) -> (World, Calm) {
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    serve(&world, "web", 0).await;
    let calm = Calm::measure(async |step| world.ready("web-0", step.is_multiple_of(2)).await).await;
    (world, calm)
}

/// Starts a program whose stderr is blocked, and whose log is verbose.
async fn start(cluster: &Cluster, leader_election: Option<LeaderElection>) -> Manager {
    let options = ManagerOptions {
        environment: Environment { stderr_is_stuck: true, ..Environment::default() },
        // The last value of a flag is the effective one.
        flags: vec!["-v=10".to_owned()],
        leader_election,
        ..ManagerOptions::of(Controller::ALL)
    };
    Manager::ours(cluster, &options).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_stderr_delays_neither_syncs_nor_the_exit() {
    let cluster = Cluster::embedded().await;
    let (world, calm) = prepare(&cluster).await;
    let manager = start(&cluster, None).await;
    world.expect("web", "IPv4", 1, 1).await;
    let mut longest = Duration::ZERO;
    for number in 0..CHANGES {
        let took = change(&world, "web", !number.is_multiple_of(2), LIMIT).await.unwrap();
        longest = longest.max(took);
    }
    measured("change while stderr is blocked, longest delay", longest);
    let start = Instant::now();
    let status = manager.stop().await;
    let took = start.elapsed();
    measured("end after SIGTERM while stderr is blocked", took);
    assert_eq!(status.code(), Some(0));
    let bound = calm.bound(BOUND);
    assert!(longest < bound && took < bound, "{longest:.1?} {took:.1?}");
}

/// A failure is logged to stderr before the exit. The process must exit even if that blocks: it no longer works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_loses_its_lease_exits_while_stderr_is_blocked() {
    let mut cluster = Cluster::embedded().await;
    cluster.allow_election().await;
    let (world, calm) = prepare(&cluster).await;
    let election = short(calm);
    let mut manager = start(&cluster, Some(election)).await;
    world.expect("web", "IPv4", 1, 1).await;
    let start = Instant::now();
    cluster.stop_apiserver();
    let status = manager.process().ended(LIMIT).await;
    let took = start.elapsed();
    measured("end after a lost lease while stderr is blocked", took);
    assert_eq!(status.code(), Some(1));
    assert!(took < election.renew_deadline + calm.bound(BOUND), "{took:.1?}");
}
