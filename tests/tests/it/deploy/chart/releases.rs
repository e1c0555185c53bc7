//! Releases on a real API server: installed, upgraded, rolled back and uninstalled while the program runs.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tests::audit::assert_allowed;
use tests::cluster::{self, Cluster, ClusterOptions, User};
use tests::manager::{Controller, Manager};
use tests::scenario::World;
use tests::wait::{self, LIMIT};

use super::super::manifests::{authorized, deployment, dry_run, name};
use super::super::priority::{LEASE, has_priority};
use super::super::serve_monitors;
use super::super::site::{ACCOUNT, RELEASED, SYSTEM, Site};
use super::{chart, helm_of, template};

impl Site {
    /// Runs helm 4 in a namespace, and returns what it prints.
    fn helm(&self, namespace: &str, args: &[&str], values: &Value) -> Result<String, String> {
        self.helm_of("helm", namespace, args, values)
    }

    fn helm_of(&self, tool: &str, namespace: &str, args: &[&str], values: &Value) -> Result<String, String> {
        let kubeconfig = self.cluster.kubeconfig(User::Admin);
        let mut all = vec!["--kubeconfig", kubeconfig.to_str().unwrap(), "--namespace", namespace];
        all.extend(args);
        helm_of(tool, &all, values)
    }

    async fn replicas(&self, namespace: &str) -> Option<i32> {
        let deployments: Api<Deployment> = Api::namespaced(self.cluster.client(), namespace);
        let found = deployments.get_opt(ACCOUNT).await.unwrap();
        found.map(|deployment| deployment.spec.replicas.unwrap())
    }
}

/// With all values. Of the manifests, and that a field which it does not know is refused, [`super::super`] has the test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_server_accepts_all_objects() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let client = cluster.client();
    serve_monitors(&client).await;
    let enabled = json!({"enabled": true});
    let everything = json!({
        "lease": {"hold": true}, "networkPolicy": enabled, "openshift": enabled, "podMonitor": enabled, "preflight": enabled,
        "serviceMonitor": enabled, "prometheusRule": enabled, "servingCertificate": {"secretName": "serving"},
        "serviceAccountCredentials": {"enabled": true, "createAccounts": true}, "page": enabled, "podNetworks": enabled,
        "dashboard": enabled, "config": {"Generic": {"ClientConnection": {"qps": 50}}}, "hostNetwork": true,
        "extraEnv": [{"name": "NO_PROXY", "value": "10.0.0.0/8"}],
        "extraVolumes": [{"name": "more", "emptyDir": {}}], "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "commonLabels": {"team": "network"}, "annotations": {"a": "b"}, "serviceAccount": {"annotations": {"a": "b"}},
    });
    let shadow =
        json!({"mode": "shadow", "podMonitor": enabled, "networkPolicy": enabled, "prometheusRule": enabled});
    for values in [json!({}), everything, shadow] {
        for object in template(SYSTEM, &values) {
            // Definitions of custom resources are served shortly after they are created.
            wait::until(&name(&object), LIMIT, || dry_run(&client, &object)).await;
        }
    }
}

/// The ways of helm to write an object: the tool, and flags of each command that does.
const WAYS: [(&str, &[&str]); 4] = [
    ("helm3", &[]),
    ("helm", &["--server-side=false"]),
    ("helm", &["--server-side=true"]),
    ("helm", &["--server-side=true", "--force-conflicts"]),
];

/// The migration with the chart, in each way: on hold while the program starts, then released. Afterwards nothing that is applied
/// takes the Lease from the leader, whatever of the hold it has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn releases_are_installed_upgraded_and_rolled_back_under_a_leader() {
    let site = Site::prepare(&[], deployment(), Vec::new()).await;
    let world = World::prepare(site.cluster.client(), Controller::ALL).await;
    let chart = chart();
    let chart = chart.to_str().unwrap();
    let hold = |on: bool| json!({"lease": {"hold": on}});
    for (tool, flags) in WAYS {
        let run = |args: &[&str], values: &Value| {
            site.helm_of(tool, SYSTEM, &[args, flags].concat(), values).unwrap_or_else(|error| {
                panic!("{tool} {flags:?} {args:?}: {error}");
            });
        };
        run(&["install", "ecm", chart, "--dry-run=server"], &hold(true));
        assert_eq!(site.replicas(SYSTEM).await, None, "a dry run installs nothing");
        run(&["install", "ecm", chart], &hold(true));
        assert_eq!(site.replicas(SYSTEM).await, Some(2));
        authorized(&site.cluster.client()).await;

        let manager = site.start(|options| options).await;
        shows_hold(&manager, true).await;
        assert_eq!(site.term().await.0, "");
        site.annotate(RELEASED, Some("a test")).await;
        world.sync().await;
        let term = site.term().await;
        assert_ne!(term.0, "");

        let upgrade = ["upgrade", "ecm", chart];
        run(&[&upgrade[..], &["--reuse-values"]].concat(), &json!({"replicas": 3}));
        assert_eq!(site.replicas(SYSTEM).await, Some(3));
        run(&["rollback", "ecm", "1"], &Value::Null);
        assert_eq!(site.replicas(SYSTEM).await, Some(2));
        for on in [false, true] {
            run(&upgrade, &hold(on));
            assert!(!site.is_held().await, "a release is final");
        }
        // A hold that is put into force is one for the next replica.
        site.annotate(RELEASED, None).await;
        shows_hold(&manager, true).await;
        run(&[&upgrade[..], &["--reuse-values"]].concat(), &json!({"replicas": 3}));
        world.sync().await;
        assert_eq!(site.term().await, term, "{tool} {flags:?}: the Lease changed hands");
        assert!(manager.stop().await.success());

        let next = site.start(|options| options).await;
        shows_hold(&next, true).await;
        assert_eq!(site.term().await, (String::new(), term.1));
        run(&upgrade, &hold(false));
        world.sync().await;
        assert_ne!(site.term().await, term);
        assert!(next.stop().await.success());

        site.helm_of(tool, SYSTEM, &["uninstall", "ecm"], &Value::Null).unwrap();
        assert_eq!(site.replicas(SYSTEM).await, None);
        assert!(site.leases().get_opt(ACCOUNT).await.unwrap().is_none(), "the Lease is part of the release");
    }
}

/// Waits until the metrics show a hold, or none.
async fn shows_hold(manager: &Manager, is_held: bool) {
    let series = format!("leader_election_held{{name=\"{ACCOUNT}\"}} {}\n", u8::from(is_held));
    wait::until(&series, LIMIT, async || {
        let (_, page) = manager.get("/metrics").await;
        if page.contains(&series) { Ok(()) } else { Err("another value".to_owned()) }
    })
    .await;
}

/// Elected by the Lease in kube-system, with the priority of kube-controller-manager.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_in_another_namespace_has_its_permissions_and_its_priority() {
    const NAMESPACE: &str = "endpoint-controllers";
    let site = Site::prepare(&[], deployment(), Vec::new()).await;
    let world = World::prepare(site.cluster.client(), Controller::ALL).await;
    let chart = chart();
    let install = ["install", "ecm", chart.to_str().unwrap(), "--create-namespace"];
    let values = json!({
        "serviceAccountCredentials": {"enabled": true, "createAccounts": true}, "podNetworks": {"enabled": true},
    });
    site.helm(NAMESPACE, &install, &values).unwrap();
    authorized(&site.cluster.client()).await;

    let kubeconfig = site.kubeconfig((NAMESPACE, ACCOUNT), &site.server()).await;
    let client = cluster::client(&kubeconfig).await.unwrap();
    let admin = site.cluster.client();
    has_priority(&admin, &client, LEASE, "leader-election", "workload-high").await;
    let other = site.kubeconfig((NAMESPACE, "pod-network-controller"), &site.server()).await;
    let other = cluster::client(&other).await.unwrap();
    let lease = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/pod-network-controller");
    has_priority(&admin, &other, &lease, "leader-election", "workload-high").await;
    let mut options = site.options(&kubeconfig);
    options.flags.push("--use-service-account-credentials=true".to_owned());
    let mark = site.cluster.audit().mark();
    let manager = Manager::ours(&site.cluster, &options).await;
    world.sync().await;
    let (holder, _) = site.term().await;
    assert!(!holder.is_empty());
    assert!(manager.stop().await.success());
    let requests = site.cluster.audit().since(mark);
    assert_allowed(requests.iter().filter(|request| request.program() == ACCOUNT));

    site.helm(NAMESPACE, &["uninstall", "ecm"], &Value::Null).unwrap();
    let deployments: Api<Deployment> = Api::all(site.cluster.client());
    wait::until("no Deployment", LIMIT, async || {
        let left = deployments.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        if left.items.is_empty() { Ok(()) } else { Err(format!("{} are left", left.items.len())) }
    })
    .await;
}
