//! `audit --dns` with CoreDNS that follows the slices, and with one whose watches are dead.

use serde_json::{Value, json};
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::dns::CoreDns;
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::proxy::{NewConnections, Proxy};
use tests::scenario::{NAMESPACE, Pod, World};
use tests::{binaries, process};

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
    let server = json!({"server": format!("https://{}", proxy.address())});
    let folder = |name: &str| {
        let folder = cluster.folder().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    };
    let follows = CoreDns::start(&folder("follows"), &cluster.kubeconfig(User::Admin));
    let frozen = CoreDns::start(&folder("frozen"), &cluster.kubeconfig_with(User::Admin, &server));
    for dns in [&follows, &frozen] {
        dns.resolves(&format!("db-0.{NAMESPACE}.svc.cluster.local"), &["10.1.0.1"]).await;
    }
    let audit = || {
        let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig(User::Admin).display());
        let servers = format!("--dns-server={},{}", follows.address(), frozen.address());
        let args = ["audit", &kubeconfig, "-o", "json", "--rule=slice-owner", "--dns", &servers, TIMEOUT];
        let output = process::output(&binaries::kubectl_endpoints(), &args, tests::wait::LIMIT);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{stderr}"));
        (output.status.code(), report["findings"].as_array().unwrap().clone())
    };
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
