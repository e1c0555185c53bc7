//! The two servers of a cluster: files, flags and readiness.

use std::path::{Path, PathBuf};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::json;

use super::{Cluster, ClusterOptions, Ports, client};
use crate::binaries;
use crate::credentials::{self, User};
use crate::process::{Environment, Process, Usage};
use crate::wait::{self, LIMIT};

/// etcd's data, under the cluster's folder.
pub(super) const ETCD_DATA: &str = "etcd";
/// The API server's serving certificate and its authority, under the cluster's folder.
pub(super) const CERTIFICATES: &str = "certificates";
/// The file of both, in that folder.
pub(super) const AUTHORITY: &str = "apiserver.crt";

impl Cluster {
    /// CPU time and memory of the API server.
    pub fn apiserver_usage(&self) -> Usage {
        self.real().apiserver.as_ref().expect("the API server runs").usage()
    }
}

/// Makes garbage collections rare, which saves CPU: a server's heap stays small, and a test process runs a dozen
/// servers. Memory in use grows to at most five times the live heap, about 400 MB for an API server.
fn environment() -> Environment {
    Environment { variables: vec![("GOGC".to_owned(), "400".to_owned())], ..Environment::default() }
}

pub(super) fn kubeconfig_path(folder: &Path, user: User) -> PathBuf {
    folder.join(format!("{}.kubeconfig", user.name().replace(':', "-")))
}

pub(super) fn audit_log(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}

pub(super) fn write_files(folder: &Path, port: u16) {
    let write = |path: &Path, text: &str| std::fs::write(path, text).expect("writing a file of the cluster");
    write(&folder.join("tokens.csv"), &credentials::token_file());
    write(&folder.join("service-account.key"), &credentials::signing_key());
    write(&folder.join("audit-policy.yaml"), AUDIT_POLICY);
    let url = format!("https://127.0.0.1:{port}");
    // Written by the API server at its first start: the certificate, then the authority that signed it.
    let authority = folder.join(CERTIFICATES).join(AUTHORITY);
    for user in User::ALL {
        let cluster = json!({"server": url, "certificate-authority": authority});
        let config = credentials::kubeconfig(&cluster, &json!({"token": user.token()}));
        write(&kubeconfig_path(folder, user), &config.to_string());
    }
}

/// The audit policy: every write, with its body where tests compare bodies, and the reads of all but the operator.
const AUDIT_POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: None
  users: [admin]
  verbs: [get, list, watch]
- level: None
  nonResourceURLs: ["*"]
- level: None
  users: ["system:apiserver"]
- level: Metadata
  verbs: [get, list, watch]
- level: Request
  resources:
  - group: ""
    resources: [endpoints, events]
  - group: discovery.k8s.io
    resources: [endpointslices]
  - group: coordination.k8s.io
    resources: [leases]
  - group: events.k8s.io
    resources: [events]
- level: Metadata
"#;

pub(super) fn start_etcd(folder: &Path, ports: Ports) -> Process {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    let args = [
        "--name=test".to_owned(),
        format!("--data-dir={ETCD_DATA}"),
        "--unsafe-no-fsync".to_owned(),
        // Enough for the large clusters of the benchmarks.
        "--quota-backend-bytes=8589934592".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=test={peer}"),
    ];
    Process::start_in("etcd", &binaries::servers().etcd(), folder, args, &environment())
}

pub(super) fn start_apiserver(folder: &Path, ports: Ports, options: &ClusterOptions) -> Process {
    let mut args = vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        format!("--secure-port={}", ports.apiserver),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        // The endpoints of the `kubernetes` Service must not have a loopback address.
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--cert-dir={CERTIFICATES}"),
        "--token-auth-file=tokens.csv".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--allow-privileged".to_owned(),
        format!("--service-cluster-ip-range={}", options.service_cluster_ip_range),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        "--service-account-signing-key-file=service-account.key".to_owned(),
        "--service-account-key-file=service-account.key".to_owned(),
        // Pods would need a service account, which a controller that does not run here creates.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--audit-policy-file=audit-policy.yaml".to_owned(),
        format!("--audit-log-path={}", audit_log(folder).display()),
        // Written before the response, never rotated away.
        "--audit-log-mode=blocking".to_owned(),
        "--audit-log-maxsize=100000".to_owned(),
    ];
    args.extend(options.apiserver_flags.iter().cloned());
    let mut environment = environment();
    if let Some(limit) = &options.memory_limit {
        environment.variables =
            vec![("GOGC".to_owned(), "off".to_owned()), ("GOMEMLIMIT".to_owned(), limit.clone())];
    }
    Process::start_in("kube-apiserver", &binaries::servers().kube_apiserver(), folder, args, &environment)
}

/// Waits until the API server has its certificate and is ready.
pub(super) async fn client_when_ready(folder: &Path, etcd: &mut Process, server: &mut Process) -> Client {
    let kubeconfig = kubeconfig_path(folder, User::Admin);
    wait::until("the API server to be ready", LIMIT, || {
        etcd.alive().unwrap_or_else(|error| panic!("{error}"));
        server.alive().unwrap_or_else(|error| panic!("{error}"));
        let tail = server.tail();
        let kubeconfig = &kubeconfig;
        async move { probe(kubeconfig).await.map_err(|reason| format!("{reason}; {tail}")) }
    })
    .await
}

async fn probe(kubeconfig: &Path) -> Result<Client, String> {
    let client = client(kubeconfig).await?;
    let request = http::Request::get("/readyz").body(Vec::new()).expect("a request");
    let answer = client.request_text(request).await.map_err(|error| error.to_string())?;
    if answer != "ok" {
        return Err(answer);
    }
    let version = client.apiserver_version().await.map_err(|error| error.to_string())?;
    assert!(version.git_version.starts_with("v1."), "unexpected version {}", version.git_version);
    let slices: Api<EndpointSlice> = Api::default_namespaced(client.clone());
    slices.list(&ListParams::default().limit(1)).await.map_err(|error| error.to_string())?;
    Ok(client)
}
