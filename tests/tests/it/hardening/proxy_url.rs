//! HTTP proxies between the program and the API server: `proxy-url` of a kubeconfig, and the environment.

use std::collections::BTreeSet;

use serde_json::json;
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::process::Environment;
use tests::proxy::Proxy;
use tests::scenario::World;

use super::fixture::{kind, serve};

/// The name in the certificate. No resolver of this machine knows it, so a client can reach it only through the proxy.
const NAME: &str = "kubernetes.default.svc";

async fn cluster() -> (Cluster, World, Proxy, String) {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    let proxy = Proxy::start_connect(cluster.apiserver_address()).await;
    let target = format!("{NAME}:{}", cluster.apiserver_address().port());
    (cluster, world, proxy, target)
}

/// Checks that the controllers work, and that all of their requests go through the proxy.
async fn assert_served_through(
    cluster: &Cluster,
    world: &World,
    proxy: &Proxy,
    target: &str,
    options: &ManagerOptions,
) {
    let manager = Manager::start(kind(), cluster, options).await;
    serve(world, "web", 0).await;
    world.expect("web", "IPv4", 1, 1).await;
    world.ready("web-0", false).await;
    world.expect("web", "IPv4", 1, 0).await;
    world.sync().await;
    let targets: BTreeSet<String> = proxy.targets().into_iter().collect();
    assert_eq!(targets, BTreeSet::from([target.to_owned()]));
    manager.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_goes_through_the_proxy_of_the_kubeconfig() {
    let (cluster, world, proxy, target) = cluster().await;
    let all = ManagerOptions::of(Controller::ALL);
    let fields = json!({
        "server": format!("https://{target}"),
        "proxy-url": format!("http://{}", proxy.address()),
    });
    let kubeconfig = Some(cluster.kubeconfig_with(all.user, &fields));
    let options = ManagerOptions { kubeconfig, ..all };
    assert_served_through(&cluster, &world, &proxy, &target, &options).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_goes_through_the_proxy_of_the_environment() {
    let (cluster, world, proxy, target) = cluster().await;
    let all = ManagerOptions::of(Controller::ALL);
    let kubeconfig = Some(cluster.kubeconfig_with(all.user, &json!({"server": format!("https://{target}")})));
    let variables =
        [("HTTPS_PROXY", format!("http://{}", proxy.address())), ("NO_PROXY", "127.0.0.1".to_owned())];
    let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let environment = Environment { variables, ..Environment::default() };
    let options = ManagerOptions { kubeconfig, environment, ..all };
    assert_served_through(&cluster, &world, &proxy, &target, &options).await;
}
