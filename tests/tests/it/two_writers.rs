//! Upstream and ours on the same objects at the same time, as by mistake.

use tests::audit::Request;
use tests::cluster::{Cluster, Seed};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::simulate;
use tests::wait::{self, LIMIT};

/// Upstream starts on Services that have neither slices nor Endpoints, and ours as soon as upstream writes. In the end every
/// object is right: slices that both made are there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cold_start_of_both_converges() {
    let seed = Seed { services: 200, pods: 10, ..Seed::default() };
    let cluster = Box::pin(Cluster::seeded(&seed)).await;
    let mark = cluster.audit().mark();
    let options = ManagerOptions::of(Controller::ALL);
    let _upstream = Manager::upstream(&cluster, &options);
    wait::until("upstream to write", LIMIT, || async {
        let is_write = |request: &Request| request.is_write() && request.is_of_endpoints();
        if cluster.audit().since(mark).iter().any(is_write) { Ok(()) } else { Err("no write") }
    })
    .await;
    let _ours = Manager::ours(&cluster, &options).await;
    // A contested Service is repaired once a minute.
    wait::until("all objects to be right", 2 * LIMIT, || async {
        let changes = simulate::changes(&simulate::dump(&cluster.client()).await, &[]);
        if changes.is_empty() { Ok(()) } else { Err(format!("{changes:#?}")) }
    })
    .await;
}
