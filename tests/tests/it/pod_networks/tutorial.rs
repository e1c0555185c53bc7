//! The controller of the tutorial in the README of `endpointslice`, on the embedded API server and on a real one.
//! hack/releasing/package runs this once more with the program that it has built from the published packages.

use k8s_openapi::api::core::v1 as core;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tests::binaries;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::observe::Observer;
use tests::process::Process;
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::LIMIT;

use super::allow;
use super::published::Published;

const TUTORIAL: &str = "own-slices.example.com";
const ADDRESSES: &str = "example.com/addresses";

/// The most addresses that an endpoint may have, and one more.
const TOO_MANY: u32 = 101;

async fn annotate(world: &World, pod: &str, addresses: Option<&str>) {
    let pods: Api<core::Pod> = Api::namespaced(world.client().clone(), NAMESPACE);
    let change = json!({"metadata": {"annotations": {ADDRESSES: addresses}}});
    pods.patch(pod, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}

async fn until(published: &Observer<Published>, what: &str, expected: &[&str]) {
    let reached = |view: &Published| view.by_manager().get(TUTORIAL).is_some_and(|found| *found == expected);
    published.until(what, LIMIT, reached, |view| format!("{:?}", view.by_manager())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_controller_of_the_tutorial_publishes_addresses_of_annotations() {
    publishes_addresses_of_annotations(Cluster::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_does_so_on_a_real_api_server() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    allow(&cluster.client()).await;
    publishes_addresses_of_annotations(cluster).await;
}

async fn publishes_addresses_of_annotations(cluster: Cluster) {
    let world = World::prepare(cluster.client(), &[]).await;
    let published = Observer::start(world.slices().clone(), Published::of("db"));
    world.service("db", json!({}), json!({"selector": {"app": "db"}, "ports": [{"port": 5432}]})).await;
    world.change_service("db", json!({"metadata": {"annotations": {ADDRESSES: ""}}})).await;
    for number in [1, 2] {
        world.pod(Pod::new(&format!("db-{number}"), "db", number)).await;
    }
    annotate(&world, "db-1", Some("192.168.7.1")).await;
    // A Service that comes first and whose slice is refused keeps no other waiting.
    world.service("cache", json!({}), json!({"selector": {"app": "cache"}, "ports": [{"port": 80}]})).await;
    world.change_service("cache", json!({"metadata": {"annotations": {ADDRESSES: ""}}})).await;
    world.pod(Pod::new("cache-1", "cache", 3)).await;
    let too_many: Vec<String> = (0..TOO_MANY).map(|number| format!("192.168.8.{number}")).collect();
    annotate(&world, "cache-1", Some(&too_many.join(","))).await;

    let program = binaries::own_slices();
    let kubeconfig = format!("KUBECONFIG={}", cluster.kubeconfig(User::ThirdParty).display());
    let args = [kubeconfig, program.display().to_string()];
    let mut controller = Process::start("own-slices", "env".as_ref(), cluster.folder(), args);
    until(&published, "the address of one pod", &["192.168.7.1"]).await;
    annotate(&world, "db-2", Some("192.168.7.2,192.168.7.3")).await;
    until(&published, "the addresses of both", &["192.168.7.1", "192.168.7.2", "192.168.7.3"]).await;
    annotate(&world, "db-1", None).await;
    until(&published, "those of the other", &["192.168.7.2", "192.168.7.3"]).await;
    world.change_service("db", json!({"metadata": {"annotations": {ADDRESSES: null}}})).await;
    let is_gone = |view: &Published| !view.by_manager().contains_key(TUTORIAL);
    published.until("no slice", LIMIT, is_gone, |view| format!("{:?}", view.by_manager())).await;
    controller.alive().unwrap();
}
