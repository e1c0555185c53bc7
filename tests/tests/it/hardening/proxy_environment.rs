//! An HTTP proxy of the environment between the program and the API server. `kube-api` `proxy` has that of a kubeconfig.

use scripted_api::proxies::{Protocol, Proxy};
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::process::Environment;
use tests::scenario::World;

use super::fixture::{kind, serve};

/// The name in the certificate. No resolver of this machine knows it, so a client can reach it only through the proxy.
const NAME: &str = "kubernetes.default.svc";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_goes_through_the_proxy_of_the_environment() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    let mut proxy = Proxy::start(Protocol::HttpTo(cluster.apiserver_address())).await;
    let target = format!("{NAME}:{}", cluster.apiserver_address().port());
    let all = ManagerOptions::of(Controller::ALL);
    let kubeconfig = Some(cluster.kubeconfig_at(all.user, &target));
    let variables =
        [("HTTPS_PROXY", format!("http://{}", proxy.address)), ("NO_PROXY", "127.0.0.1".to_owned())];
    let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let environment = Environment { variables, ..Environment::default() };
    let options = ManagerOptions { kubeconfig, environment, ..all };
    let manager = Manager::start(kind(), &cluster, &options).await;
    serve(&world, "web", 0).await;
    world.expect("web", "IPv4", 1, 1).await;
    world.ready("web-0", false).await;
    world.expect("web", "IPv4", 1, 0).await;
    world.sync().await;
    let (asked, expected) = (proxy.asked_so_far(), format!("CONNECT {target} HTTP/1.1\r\n"));
    assert!(!asked.is_empty() && asked.iter().all(|head| head.starts_with(&expected)), "{asked:?}");
    manager.stop().await;
}
