//! Releases on a real API server: installed, upgraded, rolled back and uninstalled while the program runs.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tests::cluster::{self, User};
use tests::manager::{Controller, Manager};
use tests::scenario::World;
use tests::wait::{self, LIMIT};

use super::super::manifests::{authorized, deployment};
use super::super::priority::has_priority;
use super::super::site::{ACCOUNT, SYSTEM, Site};
use super::{chart, helm};

impl Site {
    /// Runs helm in a namespace, and returns what it prints.
    fn helm(&self, namespace: &str, args: &[&str], values: &Value) -> Result<String, String> {
        let kubeconfig = self.cluster.kubeconfig(User::Admin);
        let mut all = vec!["--kubeconfig", kubeconfig.to_str().unwrap(), "--namespace", namespace];
        all.extend(args);
        let output = helm(&all, values);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    async fn replicas(&self, namespace: &str) -> Option<i32> {
        let deployments: Api<Deployment> = Api::namespaced(self.cluster.client(), namespace);
        let found = deployments.get_opt(ACCOUNT).await.unwrap();
        found.map(|deployment| deployment.spec.unwrap().replicas.unwrap())
    }
}

/// The swap with the chart: held while the program starts, released by an upgrade. Afterwards neither an upgrade nor a
/// rollback touches the leader's Lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn releases_are_installed_upgraded_and_rolled_back_under_a_leader() {
    let site = Site::prepare(&[], deployment(), Vec::new()).await;
    let world = World::prepare(site.cluster.client(), Controller::ALL).await;
    let chart = chart();
    let chart = chart.to_str().unwrap();
    let hold = json!({"lease": {"hold": true}});
    site.helm(SYSTEM, &["install", "ecm", chart, "--dry-run=server"], &hold).unwrap();
    assert_eq!(site.replicas(SYSTEM).await, None, "a dry run installs nothing");
    site.helm(SYSTEM, &["install", "ecm", chart], &hold).unwrap();
    assert_eq!(site.replicas(SYSTEM).await, Some(2));

    let manager = site.start(|options| options).await;
    assert_eq!(site.term().await.0, "swap-of-built-in-controllers");
    site.helm(SYSTEM, &["upgrade", "ecm", chart], &json!({"lease": {"hold": false}})).unwrap();
    world.sync().await;
    let term = site.term().await;
    assert!(!["", "swap-of-built-in-controllers"].contains(&term.0.as_str()), "{term:?}");

    site.helm(SYSTEM, &["upgrade", "ecm", chart], &json!({"replicas": 3})).unwrap();
    assert_eq!(site.replicas(SYSTEM).await, Some(3));
    site.helm(SYSTEM, &["rollback", "ecm", "2"], &Value::Null).unwrap();
    assert_eq!(site.replicas(SYSTEM).await, Some(2));
    let refusal = site.helm(SYSTEM, &["upgrade", "ecm", chart], &hold).unwrap_err();
    assert!(refusal.contains("conflicts with \"endpoint-controller-manager\""), "{refusal}");
    assert_eq!(site.term().await, term, "the Lease changed hands");
    world.sync().await;
    assert!(manager.stop().await.success());

    site.helm(SYSTEM, &["uninstall", "ecm"], &Value::Null).unwrap();
    assert_eq!(site.replicas(SYSTEM).await, None);
    assert!(site.leases().get_opt(ACCOUNT).await.unwrap().is_none(), "the Lease is part of the release");
}

/// Elected by the Lease in kube-system, with the priority of kube-controller-manager.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_in_another_namespace_has_its_rights_and_its_priority() {
    const NAMESPACE: &str = "endpoint-controllers";
    let site = Site::prepare(&[], deployment(), Vec::new()).await;
    let world = World::prepare(site.cluster.client(), Controller::ALL).await;
    let chart = chart();
    let install = ["install", "ecm", chart.to_str().unwrap(), "--create-namespace"];
    let values = json!({"serviceAccountCredentials": {"enabled": true, "createAccounts": true}});
    site.helm(NAMESPACE, &install, &values).unwrap();
    authorized(&site.cluster.client()).await;

    let kubeconfig = site.kubeconfig((NAMESPACE, ACCOUNT), &site.server()).await;
    let client = cluster::client(&kubeconfig).await.unwrap();
    has_priority(&site.cluster.client(), &client, "leader-election", "workload-high").await;
    let mut options = site.options(&kubeconfig);
    options.flags.push("--use-service-account-credentials=true".to_owned());
    let mark = site.cluster.audit().mark();
    let manager = Manager::ours(&site.cluster, &options).await;
    world.sync().await;
    let (holder, _) = site.term().await;
    assert!(!holder.is_empty());
    assert!(manager.stop().await.success());
    let requests = site.cluster.audit().since(mark);
    let refused: Vec<String> = requests
        .iter()
        .filter(|request| request.program() == ACCOUNT && request.code == 403)
        .map(ToString::to_string)
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));

    site.helm(NAMESPACE, &["uninstall", "ecm"], &Value::Null).unwrap();
    let deployments: Api<Deployment> = Api::all(site.cluster.client());
    wait::until("no Deployment", LIMIT, async || {
        let left = deployments.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        if left.items.is_empty() { Ok(()) } else { Err(format!("{} are left", left.items.len())) }
    })
    .await;
}
