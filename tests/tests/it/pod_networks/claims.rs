//! Addresses from the status of ResourceClaims, as a driver writes it.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::Api;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::audit::assert_allowed;
use tests::binaries;
use tests::cluster::User;
use tests::process::Process;
use tests::scenario::{NAMESPACE, Pod};

use super::published::addresses;
use super::{CONTROLLER, LABEL, Site};

pub(super) const NETWORK_NAME: &str = "multinetwork.networking.k8s.io/spec.podnetwork.name";
const DRIVER: &str = "net.example.com";

fn claims(site: &Site) -> Api<ResourceClaim> {
    Api::namespaced(site.world.client().clone(), NAMESPACE)
}

/// A claim for a device in each of two networks, reserved for a pod.
pub(super) async fn allocate(site: &Site, pod: &str) {
    let pods: Api<core::Pod> = Api::namespaced(site.world.client().clone(), NAMESPACE);
    let uid = pods.get(pod).await.unwrap().uid().unwrap();
    let request = json!({"name": "net", "exactly": {"deviceClassName": "macvlan", "count": 2}});
    let claim = json!({"metadata": {"name": pod}, "spec": {"devices": {"requests": [request]}}});
    claims(site).create(&PostParams::default(), &serde_json::from_value(claim).unwrap()).await.unwrap();
    let result =
        |device: &str| json!({"request": "net", "driver": DRIVER, "pool": "node-1", "device": device});
    let status = json!({
        "allocation": {"devices": {"results": [result("backup"), result("storage")]}},
        "reservedFor": [{"resource": "pods", "name": pod, "uid": uid}],
    });
    report(site, pod, status).await;
}

pub(super) async fn report(site: &Site, claim: &str, status: Value) {
    let patch = Patch::Merge(json!({"status": status}));
    claims(site).patch_status(claim, &PatchParams::default(), &patch).await.unwrap();
}

/// The driver's report about both devices; the second is in network `storage`.
pub(super) fn devices(number: u16, ready: &str) -> Value {
    let device = |name: &str, network: u8| {
        let condition = json!({"type": "Ready", "status": ready, "reason": "Attached", "message": "",
            "lastTransitionTime": "2026-11-27T00:00:00Z"});
        json!({"driver": DRIVER, "pool": "node-1", "device": name, "conditions": [condition],
            "data": {"podNetwork": {"kind": "PodNetwork", "name": name}},
            "networkData": {"interfaceName": "net1",
                "ips": [format!("192.168.{network}.{number}/24"), format!("fd00:{network}::{number:x}/64")]}})
    };
    json!({"devices": [device("backup", 8), device("storage", 7)]})
}

fn explain_watch(site: &Site) -> Process {
    let kubeconfig = site.cluster.kubeconfig(User::Admin).display().to_string();
    let words = ["explain", "db", "--watch", "-n", NAMESPACE, "--kubeconfig", &kubeconfig];
    Process::start("explain", &binaries::kubectl_endpoints(), site.cluster.folder(), words)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slices_follow_the_status_of_claims() {
    let site = Site::start().await;
    // It follows ResourceClaims from the label on.
    let mut explained = explain_watch(&site);
    explained.says_all(&["/db: no traffic"]).await;
    let labels = json!({"metadata": {"labels": {LABEL: CONTROLLER, NETWORK_NAME: "storage"}}});
    site.world.change_service("db", labels).await;
    for number in [1, 2] {
        let name = format!("db-{number}");
        site.world.pod(Pod::new(&name, "db", number).port("sql", 15432, "TCP")).await;
        allocate(&site, &name).await;
    }
    let mut controller = site.controller();
    site.until("an empty slice for each family, before the driver reports", &[(CONTROLLER, Vec::new())])
        .await;
    explained.says_all(&["db-2", "not attached to the network (not-in-network)"]).await;

    let storage = |numbers: &[u16]| (CONTROLLER, addresses("192.168.7.", "fd00:7::", numbers));
    report(&site, "db-1", devices(1, "True")).await;
    site.until("the addresses of one pod", &[storage(&[1])]).await;
    report(&site, "db-2", devices(2, "False")).await;
    explained.says("in the network is not ready (network-not-ready)").await;
    report(&site, "db-2", devices(2, "True")).await;
    site.until("those of both, once the second device is ready", &[storage(&[1, 2])]).await;

    site.world.change_service("db", json!({"metadata": {"labels": {NETWORK_NAME: "backup"}}})).await;
    let backup = (CONTROLLER, addresses("192.168.8.", "fd00:8::", &[1, 2]));
    site.until("those of the other network", &[backup]).await;
    site.world.change_service("db", json!({"metadata": {"labels": {NETWORK_NAME: "storage"}}})).await;

    claims(&site).delete("db-1", &DeleteParams::default()).await.unwrap();
    site.until("those of the pod that still has a claim", &[storage(&[2])]).await;
    controller.alive().unwrap();
    assert_allowed(&super::requests(&site).collect::<Vec<_>>());
    assert!(site.manager.stop().await.success());
}
