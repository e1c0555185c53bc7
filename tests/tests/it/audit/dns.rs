//! `audit --dns` with CoreDNS that follows the slices, and with one whose watches are dead.

use std::net::SocketAddr;
use std::path::Path;

use scripted_api::balancer::{NewConnections, Proxy};
use serde_json::json;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::dns::CoreDns;
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::scenario::{NAMESPACE, Pod, World};
use tests::settled::State;

use super::{Audited, raises_no_false_alarm, wait_for};

/// Above the time that a slice takes to CoreDNS.
const TIMEOUT: &str = "--dns-timeout=8s";
const SERVICES: u16 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coredns_without_its_watches_is_named_and_one_with_them_is_not() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    let manager = Manager::ours(&cluster, &ManagerOptions::of(Controller::ALL)).await;
    for number in 0..SERVICES {
        let name = format!("db-{number}");
        let spec = json!({"clusterIP": "None", "selector": {"app": name}, "ports": [{"port": 80}]});
        world.service(&name, json!({}), spec).await;
        world.pod(Pod::new(&format!("{name}-0"), &name, number + 1)).await;
    }
    world.settle().await;
    let proxy = Proxy::start(cluster.apiserver_address()).await;
    let folder = |name: &str| {
        let folder = cluster.folder().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    };
    let follows = CoreDns::start(&folder("follows"), &cluster.kubeconfig(User::Admin));
    let frozen = CoreDns::start(&folder("frozen"), &cluster.kubeconfig_at(User::Admin, proxy.address()));
    for dns in [&follows, &frozen] {
        dns.resolves(&format!("db-0.{NAMESPACE}.svc.cluster.local"), &["10.1.0.1"]).await;
    }
    let audit = || audit(&cluster.kubeconfig(User::Admin), &[follows.address(), frozen.address()], TIMEOUT);
    assert_eq!(audit(), (Some(0), Vec::new()));

    proxy.blackhole(NewConnections::Swallowed);
    world.pod(Pod::new("db-3-1", "db-3", 99)).await;
    world.settle().await;
    follows.resolves(&format!("db-3.{NAMESPACE}.svc.cluster.local"), &["10.1.0.4", "10.1.0.99"]).await;
    let (code, findings) = audit();
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    let object = (&finding["object"]["name"], &finding["rule"]);
    assert_eq!((code, object), (Some(3), (&json!("db-3"), &json!("dns-out-of-sync"))));
    let message = finding["message"].as_str().unwrap();
    let expected =
        format!("DNS server {} has not answered 10.1.0.99, which slices have as ready", frozen.address());
    assert!(message.ends_with(&expected), "{message}");
    assert!(manager.stop().await.success());
}

/// The exit code and the findings about DNS.
fn audit(kubeconfig: &Path, servers: &[SocketAddr], timeout: &str) -> Audited {
    let servers: Vec<String> = servers.iter().map(SocketAddr::to_string).collect();
    let servers = format!("--dns-server={}", servers.join(","));
    super::audit(kubeconfig, "dns-out-of-sync", &["--dns", &servers, timeout])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clusters_that_upstream_settled_raise_no_false_alarm() {
    let audit =
        |state: &State, dns: &CoreDns| audit(&state.kubeconfig, &[dns.address()], "--dns-timeout=40s");
    raises_no_false_alarm(coredns, audit, |service| service["spec"]["clusterIP"] == "None").await;
}

/// A CoreDNS that has listed the cluster.
fn coredns(state: &State) -> CoreDns {
    let dns = CoreDns::start(state.kubeconfig.parent().unwrap(), &state.kubeconfig);
    let service = state.of_kind("Service").find(|it| it["metadata"]["name"] == "kubernetes").unwrap();
    let address = service["spec"]["clusterIP"].as_str().unwrap();
    wait_for(dns.resolves("kubernetes.default.svc.cluster.local", &[address]));
    dns
}
