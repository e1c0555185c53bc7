//! `audit --proxy` with kube-proxy that follows the slices, and with a rule that it has not written.

use std::path::Path;

use serde_json::json;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::process::Process;
use tests::scenario::{Pod, World};
use tests::settled::State;
use tests::wait::{self, LIMIT};
use tests::{kube_proxy, process, tool};

use super::{Audited, raises_no_false_alarm, wait_for};

const SERVICES: u16 = 10;
/// Above the time that a slice takes to the rules.
const TIMEOUT: &str = "--proxy-timeout=5s";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_no_slice_explains_is_named_and_ends_with_a_touch() {
    if !kube_proxy::is_inside("audit::proxy::a_rule_that_no_slice_explains_is_named_and_ends_with_a_touch") {
        return;
    }
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    let manager = Manager::ours(&cluster, &ManagerOptions::of(Controller::ALL)).await;
    for number in 0..SERVICES {
        let name = format!("web-{number}");
        let affinity = if number % 2 == 0 { "ClientIP" } else { "None" };
        let spec = json!({"selector": {"app": name}, "ports": [{"port": 80}], "sessionAffinity": affinity});
        world.service(&name, json!({}), spec).await;
        for pod in 0..2 {
            world.pod(Pod::new(&format!("{name}-{pod}"), &name, 2 * number + pod + 1)).await;
        }
    }
    world.settle().await;
    let kubeconfig = cluster.kubeconfig(User::Admin);
    let _proxy = kube_proxy::start(cluster.folder(), &kubeconfig, kube_proxy::NFTABLES);
    follows(&kubeconfig).await;

    let listed = nft(&["list", "table", "ip", "kube-proxy"]);
    let is_chain = |line: &&str| line.contains("chain service-") && line.contains("/web-3/tcp/");
    let chain = listed.lines().find(is_chain).and_then(|line| line.split_whitespace().nth(1)).unwrap();
    nft(&["add", "rule", "ip", "kube-proxy", chain, "meta l4proto tcp dnat to 10.1.9.9:80"]);
    let (code, findings) = audit(&kubeconfig, TIMEOUT);
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!((code, &finding["object"]["name"]), (Some(3), &json!("web-3")));
    let message = finding["message"].as_str().unwrap();
    let expected = ":80/TCP have had 10.1.9.9:80, which kube-proxy should not use by the slices";
    assert!(message.ends_with(expected), "{message}");

    let words = ["audit", "--rule=slice-owner", "--proxy", TIMEOUT, "--touch", "--yes"];
    let stderr = tool::about(&kubeconfig, &words).stderr;
    assert_eq!(stderr.matches("done: set the annotation").count(), 1, "{stderr}");
    follows(&kubeconfig).await;
    assert!(manager.stop().await.success());
}

/// Waits until all was compared and nothing is wrong.
async fn follows(kubeconfig: &Path) {
    wait::until("rules that follow", LIMIT, async || match audit(kubeconfig, TIMEOUT) {
        (Some(0), findings) if findings.is_empty() => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

/// Runs `nft`, which [`kube_proxy::is_inside`] puts on `PATH`.
fn nft(args: &[&str]) -> String {
    let output = process::output(Path::new("nft"), args, LIMIT);
    assert!(output.status.success(), "nft {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The exit code and the findings about kube-proxy.
fn audit(kubeconfig: &Path, timeout: &str) -> Audited {
    super::audit(kubeconfig, "proxy-out-of-sync", &["--proxy", timeout])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clusters_that_upstream_settled_raise_no_false_alarm() {
    if !kube_proxy::is_inside("audit::proxy::clusters_that_upstream_settled_raise_no_false_alarm") {
        return;
    }
    let audit = |state: &State, _: &Process| audit(&state.kubeconfig, "--proxy-timeout=20s");
    raises_no_false_alarm(started, audit, |service| service["spec"]["clusterIP"] != "None").await;
}

/// kube-proxy that has written rules of both families.
fn started(state: &State) -> Process {
    // The rules of the last one stay.
    nft(&["flush", "ruleset"]);
    let proxy =
        kube_proxy::start(state.kubeconfig.parent().unwrap(), &state.kubeconfig, kube_proxy::NFTABLES);
    wait_for(wait::until("rules of kube-proxy", LIMIT, async || {
        match audit(&state.kubeconfig, "--proxy-timeout=1s") {
            (Some(4), _) => Err("none"),
            (Some(6), _) => Err("of one family, or that change"),
            _ => Ok(()),
        }
    }));
    proxy
}
