//! A cluster with objects of `deploy/`, and the program with the flags of their pod.

use std::path::{Path, PathBuf};

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::audit::{Mark, Request};
use tests::cluster::{self, Cluster, ClusterOptions, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::requests::create;
use tests::wait::{self, LIMIT};

use super::PATIENT;
use super::manifests::{authorized, name, text};
use crate::serving::tls::{Authority, Pair, write};

/// The name of everything: the service account, the user of the static pod, the Lease.
pub(crate) const ACCOUNT: &str = "endpoint-controller-manager";
pub(crate) const SYSTEM: &str = "kube-system";
/// The annotations that hold the Lease, and release it.
pub(crate) const HOLD: &str = "endpoint-controller-manager/hold";
pub(crate) const RELEASED: &str = "endpoint-controller-manager/hold-released";

/// A cluster with objects of `deploy/`.
pub(crate) struct Site {
    pub(crate) cluster: Cluster,
    pod: Value,
}

impl Site {
    /// Starts a cluster and creates the objects, without those of prometheus-operator's kinds. `pod` is the
    /// specification of the program's pod.
    pub(crate) async fn prepare(objects: &[Value], pod: Value, apiserver_flags: Vec<String>) -> Self {
        let cluster = Cluster::start(ClusterOptions { apiserver_flags, ..ClusterOptions::default() }).await;
        let client = cluster.client();
        let is_known = |object: &&Value| !text(object, "/apiVersion").starts_with("monitoring.coreos.com");
        for object in objects.iter().filter(is_known) {
            wait::until(&name(object), LIMIT, || create(&client, object)).await;
        }
        authorized(&client).await;
        Self { cluster, pod }
    }

    /// Starts the program with these [options](Self::options) and a token of the pod's service account.
    pub(crate) async fn start(&self, change: impl FnOnce(ManagerOptions) -> ManagerOptions) -> Manager {
        let account = text(&self.pod, "/serviceAccountName");
        let kubeconfig = self.kubeconfig((SYSTEM, account), &self.server()).await;
        Manager::ours(&self.cluster, &change(self.options(&kubeconfig))).await
    }

    /// The flags of the pod, except for another port, another kubeconfig, and a [longer Lease](PATIENT).
    pub(crate) fn options(&self, kubeconfig: &Path) -> ManagerOptions {
        const REPLACED: [&str; 5] = [
            "--secure-port",
            "--bind-address",
            "--kubeconfig",
            "--authentication-kubeconfig",
            "--authorization-kubeconfig",
        ];
        let args = self.pod["containers"][0]["args"].as_array().unwrap();
        let args = args.iter().map(|arg| arg.as_str().unwrap().to_owned());
        let mut flags: Vec<String> =
            args.filter(|arg| !REPLACED.contains(&arg.split('=').next().unwrap())).collect();
        assert!(flags.iter().any(|flag| flag == "--leader-elect=true"), "{flags:?}");
        for flag in &REPLACED[2..] {
            flags.push(format!("{flag}={}", kubeconfig.display()));
        }
        ManagerOptions { flags, leader_election: Some(PATIENT), ..ManagerOptions::of(Controller::ALL) }
    }

    /// The address of the API server.
    pub(crate) fn server(&self) -> String {
        let admin = std::fs::read(self.cluster.kubeconfig(User::Admin)).unwrap();
        let admin: Value = serde_json::from_slice(&admin).unwrap();
        text(&admin, "/clusters/0/cluster/server").to_owned()
    }

    /// A kubeconfig for a server with a token of a service account.
    pub(crate) async fn kubeconfig(&self, (namespace, account): (&str, &str), server: &str) -> PathBuf {
        let name = format!("{account}-{}.kubeconfig", server.replace(['/', ':'], "-"));
        let token = self.cluster.token(namespace, account).await;
        self.write_kubeconfig(&name, server, &json!({"token": token}))
    }

    /// A kubeconfig for a server with these credentials.
    pub(crate) fn write_kubeconfig(&self, name: &str, server: &str, user: &Value) -> PathBuf {
        let cluster = json!({"server": server, "insecure-skip-tls-verify": true});
        let path = self.cluster.folder().join(name);
        std::fs::write(&path, cluster::kubeconfig(&cluster, user).to_string()).unwrap();
        path
    }

    /// The requests of a user to the API server.
    pub(crate) fn requests(&self, user: &str, mark: Mark) -> Vec<Request> {
        let mut requests = self.cluster.audit().since(mark);
        requests.retain(|request| request.user == user);
        requests
    }

    pub(crate) fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.cluster.client(), SYSTEM)
    }

    /// True if a hold of the Lease is in force.
    pub(crate) async fn is_held(&self) -> bool {
        let annotations = self.leases().get(ACCOUNT).await.unwrap().metadata.annotations.unwrap_or_default();
        annotations.contains_key(HOLD) && !annotations.contains_key(RELEASED)
    }

    /// Sets an annotation of the Lease, or removes it.
    pub(crate) async fn annotate(&self, annotation: &str, value: Option<&str>) {
        let change = Patch::Merge(json!({"metadata": {"annotations": {annotation: value}}}));
        self.leases().patch(ACCOUNT, &PatchParams::default(), &change).await.unwrap();
    }

    /// Holder and transitions of the Lease.
    pub(crate) async fn term(&self) -> (String, Option<i32>) {
        let spec = self.leases().get(ACCOUNT).await.unwrap().spec.unwrap_or_default();
        (spec.holder_identity.unwrap_or_default(), spec.lease_transitions)
    }
}

/// A cluster that accepts client certificates, which are what static pods have.
pub(crate) struct Certified {
    pub(crate) site: Site,
    pub(crate) authority: Authority,
    folder: TempDir,
}

impl Certified {
    pub(crate) async fn prepare(objects: &[Value], pod: Value, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new("kubernetes");
        let path = write(folder.path(), "ca.crt", &authority.certificate_pem);
        let mut flags = vec![format!("--client-ca-file={}", path.display())];
        flags.extend(more.iter().map(ToString::to_string));
        Self { site: Site::prepare(objects, pod, flags).await, authority, folder }
    }

    /// A kubeconfig of a user with a certificate.
    pub(crate) fn kubeconfig(&self, user: &str) -> PathBuf {
        let pair = Pair::client(&self.authority, self.folder.path(), user, &[]);
        let user = json!({"client-certificate": pair.certificate, "client-key": pair.key});
        self.site.write_kubeconfig("certified.kubeconfig", &self.site.server(), &user)
    }
}

/// The name of a service account as a user.
pub(crate) fn user((namespace, account): (&str, &str)) -> String {
    format!("system:serviceaccount:{namespace}:{account}")
}
