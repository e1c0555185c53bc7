//! Flags that disable upstream's built-in controllers, tested with upstream itself: its log lists the controllers that
//! it runs without.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use tests::binaries;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::Controller;
use tests::process::Process;
use tests::wait::{self, LIMIT};

use super::manifests::{file, text};

/// The list of controllers that each distribution passes by default.
const KUBEADM: &str = "*,bootstrapsigner,tokencleaner";
const K3S: &str = "*,tokencleaner";
const TALOS: &str = "*,tokencleaner";

fn document(path: &str) -> Value {
    file(&format!("disable-built-ins/{path}")).remove(0)
}

/// kubeadm replaces its list.
fn kubeadm() -> Vec<String> {
    let document = document("kubeadm.yaml");
    assert_eq!(text(&document, "/apiVersion"), "kubeadm.k8s.io/v1beta4");
    assert_eq!(text(&document, "/kind"), "ClusterConfiguration");
    assert_eq!(text(&document, "/controllerManager/extraArgs/0/name"), "controllers");
    vec![text(&document, "/controllerManager/extraArgs/0/value").to_owned()]
}

/// k3s and RKE2 pass their own list, and then each value of a `controllers+`.
fn rancher(path: &str) -> Vec<String> {
    let document = document(path);
    let arguments = document["kube-controller-manager-arg+"].as_array().unwrap();
    let values =
        arguments.iter().map(|argument| argument.as_str().unwrap().strip_prefix("controllers+=").unwrap());
    std::iter::once(K3S).chain(values).map(str::to_owned).collect()
}

/// Talos adds the entries that its list lacks.
fn talos() -> Vec<String> {
    let document = document("talos.yaml");
    let more = text(&document, "/cluster/controllerManager/extraArgs/controllers");
    let known: Vec<&str> = TALOS.split(',').collect();
    let more: Vec<&str> = more.split(',').filter(|entry| !known.contains(entry)).collect();
    vec![[known, more].concat().join(",")]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_patch_disables_the_three_and_no_other() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let talos_of_old =
        vec![text(&document("talos.yaml"), "/cluster/controllerManager/extraArgs/controllers").to_owned()];
    let ours: BTreeSet<String> =
        Controller::ALL.iter().map(|controller| controller.name().to_owned()).collect();
    for (name, own, patched) in [
        ("kubeadm", KUBEADM, kubeadm()),
        ("k3s", K3S, rancher("k3s.yaml")),
        ("rke2", K3S, rancher("rke2.yaml")),
        ("talos", TALOS, talos()),
        ("talos-of-old", TALOS, talos_of_old),
    ] {
        let before = disabled(&cluster, &format!("{name}-before"), &[own.to_owned()]).await;
        let after = disabled(&cluster, &format!("{name}-after"), &patched).await;
        assert!(before.is_disjoint(&ours), "{name} runs them by default: {before:?}");
        let all: BTreeSet<String> = before.union(&ours).cloned().collect();
        assert_eq!(after, all, "{name}");
        assert!(!after.contains("token-cleaner-controller"), "{name}: {after:?}");
    }
}

/// The controllers that kube-controller-manager leaves out with these values of `--controllers`.
async fn disabled(cluster: &Cluster, name: &str, controllers: &[String]) -> BTreeSet<String> {
    let folder = cluster.folder().join(name);
    std::fs::create_dir(&folder).unwrap();
    let mut args = vec![
        format!("--kubeconfig={}", cluster.kubeconfig(User::KubeControllerManager).display()),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
        "-v=1".to_owned(),
    ];
    args.extend(controllers.iter().map(|value| format!("--controllers={value}")));
    let program = binaries::servers().kube_controller_manager();
    let mut process = Process::start("kube-controller-manager", &program, &folder, args);
    wait::until(name, LIMIT, || {
        let listed = process.alive().and_then(|()| listed(process.log()));
        async { listed }
    })
    .await
}

/// The controllers that the log lists, once all are built.
fn listed(log: &Path) -> Result<BTreeSet<String>, String> {
    let log = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    if !log.contains(r#""Controller starting...""#) {
        return Err("controllers are not built yet".to_owned());
    }
    let disabled = log.lines().filter(|line| line.contains(r#""Warning: controller is disabled""#));
    let name = |line: &str| line.split(r#"controller=""#).nth(1)?.split('"').next().map(str::to_owned);
    Ok(disabled.filter_map(name).collect())
}
