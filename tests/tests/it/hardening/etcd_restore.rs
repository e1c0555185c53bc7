//! etcd is restored from a backup and written again: resource versions go back, and return with other content.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tests::manager::{LeaderElection, ManagerOptions};
use tests::scenario::NAMESPACE;
use tests::wait::LIMIT;

use super::fixture::{Fixture, change, measured, patience};

const BOUND: Duration = Duration::from_secs(45);
/// Writes that the backup lacks. As many are made again while the program still waits for its last known version.
const WRITES: usize = 300;

/// The leader keeps the Lease while the servers are down: leader election is not under test.
const PATIENT: LeaderElection = LeaderElection {
    lease_duration: Duration::from_secs(600),
    renew_deadline: Duration::from_secs(500),
    retry_period: Duration::from_secs(2),
};

/// Advances the resource version of the cluster.
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
    let mut fixture =
        Fixture::behind_a_proxy_of_the_real_server(|options| ManagerOptions { leader_election, ..options })
            .await;
    fixture.cluster.back_up().await;
    change(&fixture.world, "web", false, LIMIT).await.unwrap();
    write(&fixture.cluster.client(), WRITES).await;
    // Without a change, the watches would not have the last versions.
    change(&fixture.world, "web", true, LIMIT).await.unwrap();
    change(&fixture.world, "web", false, LIMIT).await.unwrap();
    fixture.world.sync().await;
    let before = version(&fixture.cluster.client()).await;

    fixture.cluster.restore().await;
    fixture.manager.process().alive().unwrap();
    let restored = version(&fixture.cluster.client()).await;
    assert!(restored < before, "{restored} < {before}");
    // In the restored state the pod is ready. It leaves the Service before a new version appears.
    let start = Instant::now();
    fixture.world.relabel("web-0", json!({"app": "elsewhere"})).await;
    write(&fixture.cluster.client(), usize::try_from(before - restored).unwrap() + 50).await;
    assert!(version(&fixture.cluster.client()).await > before);

    // From here on, as the time of the writes depends on the machine.
    let written = Instant::now();
    let limit = patience(LIMIT);
    loop {
        let slices = fixture.world.slices_of("web", "IPv4").await.unwrap_or_default();
        if !slices.is_empty() && slices.iter().all(|slice| slice.endpoints.iter().flatten().count() == 0) {
            break;
        }
        fixture.manager.process().alive().unwrap();
        assert!(written.elapsed() < limit, "not within {} s: {slices:?}", limit.as_secs());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let took = written.elapsed();
    measured("change right after etcd was restored from a backup", start.elapsed());
    assert!(took <= fixture.calm.after(BOUND), "{took:.1?}");
}
