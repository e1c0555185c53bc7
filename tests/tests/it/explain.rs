//! `explain` as a plugin of kubectl, against the real API server, with the permissions of one namespace.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::cluster::{self, User};
use tests::manager::{Controller, Kind, ManagerOptions};
use tests::parity::Run;
use tests::scenario::{NAMESPACE, Pod};
use tests::{binaries, requests};

use crate::deploy::manifests::authorized;

/// The permissions that `docs/operate/explain.md` names.
const RULES: &str = r#"[
    {"apiGroups": [""], "resources": ["services", "pods", "endpoints"], "verbs": ["list"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]}]"#;

/// kubectl, with the plugin on its path.
struct Kubectl {
    kubectl: PathBuf,
    folder: TempDir,
}

impl Kubectl {
    fn new() -> Self {
        let kubectl =
            binaries::servers().kubectl().expect("no kubectl: hack/testenv/build builds one if there is Go");
        let folder = tempfile::tempdir().unwrap();
        let plugin = folder.path().join("kubectl-endpoints");
        std::os::unix::fs::symlink(binaries::kubectl_endpoints(), plugin).unwrap();
        Self { kubectl, folder }
    }

    fn run(&self, kubeconfig: &Path, words: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = Command::new(&self.kubectl)
            .args(["endpoints", "explain"])
            .args(words)
            .env("PATH", self.folder.path())
            .env("KUBECONFIG", kubeconfig)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }
}

/// A kubeconfig of a service account with [`RULES`] in the namespace.
async fn reader(run: &Run) -> PathBuf {
    let client = run.cluster.client();
    let object = |version: &str, kind: &str| {
        json!({"apiVersion": version, "kind": kind,
        "metadata": {"name": "reader", "namespace": NAMESPACE}})
    };
    let mut role = object("rbac.authorization.k8s.io/v1", "Role");
    role["rules"] = serde_json::from_str(RULES).unwrap();
    let account = requests::account(NAMESPACE, "reader");
    let binding = requests::binding("reader", Some(NAMESPACE), "reader", &account);
    for object in [object("v1", "ServiceAccount"), role, binding] {
        requests::create(&client, &object).await.unwrap();
    }
    authorized(&client).await;
    let admin = std::fs::read(run.cluster.kubeconfig(User::Admin)).unwrap();
    let admin: Value = serde_json::from_slice(&admin).unwrap();
    let token = json!({"token": run.cluster.token(NAMESPACE, "reader").await});
    let mut config = cluster::kubeconfig(&admin["clusters"][0]["cluster"], &token);
    config["contexts"][0]["context"]["namespace"] = json!(NAMESPACE);
    let path = run.cluster.folder().join("reader.kubeconfig");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_permissions_of_a_namespace_are_enough() {
    let run = Box::pin(Run::start_as(Kind::Upstream, ManagerOptions::of(Controller::ALL))).await;
    let ports = json!([{"name": "http", "port": 80, "targetPort": 8080}]);
    run.world.service("web", json!({}), json!({"selector": {"app": "web"}, "ports": ports})).await;
    run.world.pod(Pod::new("web-1", "web", 1)).await;
    run.world.pod(Pod::new("web-2", "web", 2).node("lost")).await;
    run.world.expect("web", "IPv4", 1, 1).await;
    run.world.settle().await;
    let kubeconfig = reader(&run).await;
    let mark = run.audit().mark();

    let kubectl = Kubectl::new();
    let (code, stdout, stderr) = kubectl.run(&kubeconfig, &["web", "-o", "json"]);
    let document: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
    let pods = &document["services"][0]["pods"];
    assert_eq!((&pods[0]["slices"], &pods[0]["verdict"]), (&json!("ready"), &json!("ok")), "{pods}");
    // Its node does not exist, which the reader may not know.
    assert_eq!((&pods[1]["slices"], &pods[1]["verdict"]), (&json!("absent"), &json!("unknown")), "{pods}");
    assert_eq!(pods[1]["reasons"][0]["code"], "undecided", "{pods}");
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains("without nodes"), "{stderr}");
    let requests = run.audit().since(mark);
    let own: Vec<_> = requests.iter().filter(|request| request.user.ends_with(":reader")).collect();
    assert!(!own.is_empty() && own.iter().all(|request| request.verb == "list"), "{own:#?}");

    let (code, stdout, stderr) = kubectl.run(&kubeconfig, &["-A"]);
    assert_eq!((code, stdout.as_str()), (4, ""), "{stderr}");
    assert!(stderr.contains("cannot list services") && stderr.contains("with -n NAMESPACE"), "{stderr}");
    let (code, _, stderr) = kubectl.run(&kubeconfig, &["web", "-n", "default"]);
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("this needs permission to list it"), "{stderr}");
    let (code, _, stderr) = kubectl.run(&kubeconfig, &["no-such"]);
    assert_eq!(code, 1, "{stderr}");

    let admin = run.cluster.kubeconfig(User::Admin);
    let (code, stdout, stderr) = kubectl.run(&admin, &["web", "-n", NAMESPACE]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.contains("node lost does not exist") && stdout.contains("(node-unknown)"), "{stdout}");
}
