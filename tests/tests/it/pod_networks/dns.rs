//! Answers of CoreDNS for headless Services on pod networks.

use serde_json::json;
use tests::cluster::User;
use tests::dns::CoreDns;
use tests::scenario::{NAMESPACE, Pod};

use super::claims::{NETWORK_NAME, allocate, devices, report};
use super::{CONTROLLER, LABEL, Site};

/// CoreDNS knows nothing of networks: it answers with the addresses of all slices of the Service.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_resolve_to_addresses_of_the_network_of_their_service() {
    let site = Site::start().await;
    let headless = |app: &str| json!({"clusterIP": "None", "selector": {"app": app}, "ipFamilyPolicy": "RequireDualStack", "ports": [{"port": 80}]});
    site.world.service("plain", json!({}), headless("db")).await;
    for network in ["storage", "backup"] {
        site.world.service(network, json!({LABEL: CONTROLLER, NETWORK_NAME: network}), headless("db")).await;
    }
    for number in [1, 2] {
        let name = format!("db-{number}");
        let pod =
            Pod::new(&name, "db", number).spec("hostname", json!(name)).spec("subdomain", json!("storage"));
        site.world.pod(pod).await;
        allocate(&site, &name).await;
        report(&site, &name, devices(number, "True")).await;
    }
    let _controller = site.controller();
    let dns = CoreDns::start(site.cluster.folder(), &site.cluster.kubeconfig(User::Admin));
    let name = |service: &str| format!("{service}.{NAMESPACE}.svc.cluster.local");
    let both =
        |v4: &str, v6: &str| [1, 2].map(|number| [format!("{v4}{number}"), format!("{v6}{number}")]).concat();
    let resolves = async |name: &str, addresses: &[String]| {
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        dns.resolves(name, &addresses).await;
    };
    resolves(&name("plain"), &both("10.1.0.", "fd00:1::")).await;
    resolves(&name("storage"), &both("192.168.7.", "fd00:7::")).await;
    resolves(&name("backup"), &both("192.168.8.", "fd00:8::")).await;
    dns.resolves(&format!("db-2.{}", name("storage")), &["192.168.7.2", "fd00:7::2"]).await;

    report(&site, "db-1", devices(1, "False")).await;
    dns.resolves(&name("storage"), &["192.168.7.2", "fd00:7::2"]).await;
    let moved = json!({"metadata": {"labels": {NETWORK_NAME: "storage"}}});
    site.world.change_service("backup", moved).await;
    dns.resolves(&name("backup"), &["192.168.7.2", "fd00:7::2"]).await;
    site.world.change_service("backup", json!({"metadata": {"labels": {LABEL: null}}})).await;
    site.world.change_service("backup", json!({"metadata": {"labels": {NETWORK_NAME: null}}})).await;
    resolves(&name("backup"), &both("10.1.0.", "fd00:1::")).await;
    assert!(site.manager.stop().await.success());
}
