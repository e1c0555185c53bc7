//! A partition between kubelets and the API server, with upstream's node lifecycle controller: all nodes become `Unknown`, and it
//! marks all pods as not ready. With the gate `EndpointsKeepReadyOnDisruption` nothing is written, whoever leads.
//! `hack/bench --partition` has 2,000 endpoints, ten minutes and upstream alongside it.

use std::time::Duration;

use tests::audit::Mark;
use tests::barrier::workers_rest;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::kubelets::{Kubelets, Size};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::shadow::Shadow;
use tests::wait::{self, LIMIT};
use tokio::time::Instant;

const SIZE: Size = Size { nodes: 6, services: 4, pods: 6 };
const ALL: usize = SIZE.services * SIZE.pods;
const PODS_PER_NODE: usize = ALL / SIZE.nodes;
/// Withdraws the pods of a dead node once no others follow it.
const CONFIRMATION: &str = "--disruption-confirmation-period=40s";
const FEATURE: &str = "--feature-gates=EndpointsKeepReadyOnDisruption=true";

/// A cluster whose kubelets are this test.
struct Partitioned {
    kubelets: Kubelets,
    cluster: Cluster,
    created: Instant,
}

impl Partitioned {
    async fn start() -> Self {
        let cluster = Box::pin(Cluster::start(ClusterOptions::default())).await;
        let flags = [
            "--node-monitor-period=1s",
            "--node-monitor-grace-period=20s",
            "--node-startup-grace-period=60s",
        ];
        let kubelets = Kubelets::start(&cluster, SIZE, &flags).await;
        Self { kubelets, cluster, created: Instant::now() }
    }

    async fn manager(&self) -> Manager {
        let flags = [FEATURE, CONFIRMATION];
        let options = ManagerOptions {
            flags: flags.map(str::to_owned).to_vec(),
            ..ManagerOptions::of(Controller::ALL)
        };
        Manager::ours(&self.cluster, &options).await
    }

    /// The writes of our program.
    fn writes_since(&self, mark: Mark) -> Vec<String> {
        let writes = self.cluster.audit().writes_since(mark, User::EndpointControllers);
        writes.iter().map(|write| format!("{} {} {}", write.verb, write.resource, write.name)).collect()
    }

    /// All kubelets come back. A node that is younger than a minute is not told from one that registers.
    async fn reconnect(&self) {
        tokio::time::sleep_until(self.created + Duration::from_secs(65)).await;
        for node in 0..SIZE.nodes {
            self.kubelets.reconnect(node).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_withdraws_nothing_and_a_dead_node_does() {
    let world = Box::pin(Partitioned::start()).await;
    let manager = world.manager().await;
    world.kubelets.wait_for_published(ALL).await;

    let mark = world.cluster.audit().mark();
    world.kubelets.disconnect(0..SIZE.nodes);
    world.kubelets.wait_for_pods(0).await;
    assert_eq!(world.kubelets.published().await.len(), ALL);
    // Whoever begins to lead in the partition decides the same.
    drop(manager);
    let manager = world.manager().await;
    // A probe that fails counts: its Endpoints and its slice are written, and so what came before has been seen.
    world.kubelets.report_pod(0, &["Ready", "ContainersReady"], "False").await;
    world.kubelets.wait_for_published(ALL - 1).await;

    world.reconnect().await;
    world.kubelets.wait_for_pods(ALL).await;
    world.kubelets.wait_for_published(ALL).await;
    // Endpoints are written by another controller than slices.
    workers_rest(Controller::ALL, manager.pages()).await;
    let writes = world.writes_since(mark);
    assert_eq!(writes.len(), 4, "for one pod, out of both and back: {writes:#?}");

    // One dead node is one dead node.
    world.kubelets.disconnect([0]);
    world.kubelets.wait_for_pods(ALL - PODS_PER_NODE).await;
    world.kubelets.wait_for_published(ALL - PODS_PER_NODE).await;
}

/// Each Service has Endpoints and a slice, which upstream empties.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shadow_says_which_differences_are_those_of_the_partition() {
    let world = Box::pin(Partitioned::start()).await;
    let _upstream = Manager::upstream(&world.cluster, &ManagerOptions::of(Controller::ALL));
    world.kubelets.wait_for_published(ALL).await;
    let flags = [FEATURE, CONFIRMATION, "--grace=3s"].map(str::to_owned);
    let shadow = Shadow::start(&world.cluster, &flags).await;
    world.kubelets.disconnect(0..SIZE.nodes);
    world.kubelets.wait_for_published(0).await;
    let objects = 2.0 * f64::from(u32::try_from(SIZE.services).expect("few"));
    wait::until("a lasting difference of each object", LIMIT, async || {
        let lasting = shadow.sum_of("shadow_differences").await;
        if lasting >= objects { Ok(()) } else { Err(lasting) }
    })
    .await;
    let report = shadow.end(&world.cluster).await.report;
    assert_eq!(report["lastingWhileKeptReady"].as_f64(), Some(objects), "{report:#}");
}
