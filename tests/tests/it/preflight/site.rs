//! A cluster for preflights.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::audit::Mark;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::{self, LIMIT};
use tests::{requests, tool};

use crate::deploy::PATIENT;
use crate::deploy::manifests::{authorized, kustomization, name, text};

/// The words for a program as `deploy/base` runs it.
pub(super) const PREPARED: &[&str] =
    &["--service-account=kube-system:endpoint-controller-manager", "--confirm-after=0"];

/// A cluster with the roles of `deploy/`.
pub(super) struct Site {
    pub(super) cluster: Cluster,
}

/// The outcome of a preflight.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) code: i32,
    /// By id.
    pub(super) checks: BTreeMap<String, Value>,
}

impl Report {
    fn text<'a>(&'a self, id: &str, field: &str) -> &'a str {
        let check = self.checks.get(id).unwrap_or_else(|| panic!("no {id} in {self:#?}"));
        check[field].as_str().unwrap_or_default()
    }

    pub(super) fn message(&self, id: &str) -> &str {
        self.text(id, "message")
    }

    /// Asserts the status of a check, and what its message has.
    pub(super) fn expect(&self, id: &str, status: &str, text: &str) {
        let found = self.text(id, "status");
        assert!(found == status && self.message(id).contains(text), "{id}, {status}, {text}: {self:#?}");
        assert_eq!(self.text(id, "remedy").is_empty(), status == "ok", "{self:#?}");
    }
}

impl Site {
    pub(super) async fn prepare() -> Self {
        let site = Self { cluster: Cluster::start(ClusterOptions::default()).await };
        let kinds = ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ServiceAccount", "Lease"];
        for object in kustomization("base").iter().filter(|object| kinds.contains(&text(object, "/kind"))) {
            site.create(object).await;
        }
        authorized(&site.cluster.client()).await;
        site
    }

    pub(super) async fn create(&self, object: &Value) {
        let client = self.cluster.client();
        wait::until(&name(object), LIMIT, || requests::create(&client, object)).await;
    }

    /// Starts kube-controller-manager with a Lease of its own, and lets it write for a Service with pods and for one with
    /// custom Endpoints.
    pub(super) async fn settle(&self) -> Manager {
        let world = World::prepare(self.cluster.client(), Controller::ALL).await;
        let user = requests::user(User::EndpointControllers.name());
        self.create(&requests::binding("test", None, "system:kube-controller-manager", &user)).await;
        let options = ManagerOptions {
            leader_election: Some(PATIENT),
            flags: vec!["--leader-elect-resource-name=kube-controller-manager".to_owned()],
            ..ManagerOptions::of(Controller::ALL)
        };
        let manager = Manager::upstream(&self.cluster, &options);
        // At its start, upstream deletes Endpoints whose Service it has not seen.
        world.settle().await;
        let ports = json!([{"name": "http", "port": 80, "targetPort": 8080}]);
        world.service("web", json!({}), json!({"selector": {"app": "web"}, "ports": ports})).await;
        for number in 1..=3 {
            world.pod(Pod::new(&format!("web-{number}"), "web", number)).await;
        }
        world.service("custom", json!({}), json!({"ports": [{"port": 80}]})).await;
        self.create(&endpoints(NAMESPACE, "custom")).await;
        world.expect("web", "IPv4", 3, 3).await;
        world.expect("custom", "IPv4", 2, 2).await;
        world.settle().await;
        manager
    }

    /// Creates the pod that the kubelet shows for a static one.
    pub(super) async fn manager_pod(&self, name: &str, controllers: &str) {
        let command = ["kube-controller-manager".to_owned(), format!("--controllers={controllers}")];
        self.create(&json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "kube-system", "labels": {"component": "kube-controller-manager"}},
            "spec": {"containers": [{"name": "kube-controller-manager", "image": "none", "command": command}]},
        }))
        .await;
    }

    /// Runs a preflight as the operator.
    pub(super) fn preflight(&self, words: &[&str]) -> Report {
        self.preflight_as(User::Admin, words)
    }

    pub(super) fn preflight_as(&self, user: User, words: &[&str]) -> Report {
        let words = [&["preflight", "-o", "json"], words].concat();
        let ended = tool::about(&self.cluster.kubeconfig(user), &words);
        let document = ended.json();
        let checks = document["checks"].as_array().unwrap().iter();
        let checks = checks.map(|check| (check["id"].as_str().unwrap().to_owned(), check.clone())).collect();
        Report { code: ended.code.unwrap(), checks }
    }

    /// The operator's writes as `verb resource`.
    pub(super) fn admin_writes(&self, mark: Mark) -> Vec<String> {
        let writes = self.cluster.audit().writes_since(mark, User::Admin);
        writes.iter().map(|it| format!("{} {}", it.verb, it.resource)).collect()
    }
}

/// Custom Endpoints of two addresses.
pub(super) fn endpoints(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, "namespace": namespace},
        "subsets": [{"addresses": [{"ip": "10.8.0.1"}, {"ip": "10.8.0.2"}]}]})
}
