//! etcd is restored from a backup, and written on: versions go back and come again with another meaning.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tests::manager::{LeaderElection, ManagerOptions};
use tests::scenario::NAMESPACE;
use tests::wait::LIMIT;

use super::stage::{Stage, change, measured, patience};

const BOUND: Duration = Duration::from_secs(45);
/// Writes that the backup lacks. They are made up for while the program still waits for the version that it knows.
const WRITES: usize = 300;

/// The leader keeps the Lease while the servers are away, for this is not about the election.
const PATIENT: LeaderElection = LeaderElection {
    lease_duration: Duration::from_secs(90),
    renew_deadline: Duration::from_secs(75),
    retry_period: Duration::from_secs(2),
};

/// Moves the version of the cluster on.
async fn write(client: &Client, count: usize) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    for _ in 0..count / 2 {
        let map = serde_json::from_value(json!({"metadata": {"name": "noise"}})).unwrap();
        maps.create(&PostParams::default(), &map).await.unwrap();
        maps.delete("noise", &DeleteParams::default()).await.unwrap();
    }
}

async fn version(client: &Client) -> u64 {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let list = maps.list(&ListParams::default().limit(1)).await.unwrap();
    list.metadata.resource_version.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_restored_from_a_backup_that_catches_up_is_noticed() {
    let leader_election = Some(PATIENT);
    let mut stage = Stage::behind_a_proxy(|options| ManagerOptions { leader_election, ..options }).await;
    stage.cluster.back_up().await;
    change(&stage.world, "web", false, LIMIT).await.unwrap();
    write(&stage.cluster.client(), WRITES).await;
    // Otherwise the watches would not know of the last versions.
    change(&stage.world, "web", true, LIMIT).await.unwrap();
    change(&stage.world, "web", false, LIMIT).await.unwrap();
    stage.world.sync().await;
    let before = version(&stage.cluster.client()).await;

    stage.cluster.restore().await;
    stage.manager.process().alive().unwrap();
    let restored = version(&stage.cluster.client()).await;
    assert!(restored < before, "{restored} < {before}");
    // The pod is ready again, and its slice says so. Before any version comes that was not known, the pod leaves.
    let start = Instant::now();
    stage.world.relabel("web-0", json!({"app": "elsewhere"})).await;
    write(&stage.cluster.client(), usize::try_from(before - restored).unwrap() + 50).await;
    assert!(version(&stage.cluster.client()).await > before);

    let limit = patience(BOUND);
    let took = loop {
        let slices = stage.world.slices_of("web", "IPv4").await.unwrap_or_default();
        if !slices.is_empty() && slices.iter().all(|slice| slice.endpoints.iter().flatten().count() == 0) {
            break start.elapsed();
        }
        stage.manager.process().alive().unwrap();
        assert!(start.elapsed() < limit, "not within {} s: {slices:?}", limit.as_secs());
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    measured("change right after etcd was restored from a backup", took);
}
