//! stderr is a pipe that is not read, as under a log collector that hangs.

use std::time::{Duration, Instant};

use tests::cluster::Cluster;
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::process::Environment;
use tests::scenario::World;
use tests::wait::{Calm, LIMIT};

use super::fixture::{measured, serve};
use crate::election::short;

const BOUND: Duration = Duration::from_secs(10);

/// A failure is logged to stderr before the exit. The process must exit even if that blocks: it no longer works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_loses_its_lease_exits_while_stderr_is_blocked() {
    let mut cluster = Cluster::embedded().await;
    cluster.allow_election().await;
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    serve(&world, "web", 0).await;
    let calm = Calm::measure(async |step| world.ready("web-0", step.is_multiple_of(2)).await).await;
    let election = short(calm);
    let options = ManagerOptions {
        environment: Environment { stderr_is_stuck: true, ..Environment::default() },
        // The last value of a flag is the effective one.
        flags: vec!["-v=10".to_owned()],
        leader_election: Some(election),
        ..ManagerOptions::of(Controller::ALL)
    };
    let mut manager = Manager::ours(&cluster, &options).await;
    world.expect("web", "IPv4", 1, 1).await;
    let start = Instant::now();
    cluster.stop_apiserver();
    let status = manager.process().ended(LIMIT).await;
    let took = start.elapsed();
    measured("end after a lost lease while stderr is blocked", took);
    assert_eq!(status.code(), Some(1));
    assert!(took < election.renew_deadline + calm.bound(BOUND), "{took:.1?}");
}
