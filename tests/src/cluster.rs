//! A Kubernetes control plane without controllers: etcd and kube-apiserver on free loopback ports.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, Role, RoleBinding};
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use serde::Deserialize as _;
use tempfile::TempDir;

use crate::audit::AuditLog;
use crate::process::Process;
use crate::wait::{self, LIMIT};
use crate::{binaries, credentials, ports};

pub use crate::credentials::User;

/// How a cluster is set up.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The ranges of cluster IPs, one per family, the default family first.
    pub service_cluster_ip_range: String,
    /// More flags for the API server.
    pub apiserver_flags: Vec<String>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            service_cluster_ip_range: "10.96.0.0/16,fd00:96::/112".to_owned(),
            apiserver_flags: Vec::new(),
        }
    }
}

/// A running cluster. Dropping it ends its processes and deletes its folder; `TESTS_KEEP=1` in the environment
/// keeps the folder.
pub struct Cluster {
    // Fields drop in this order: servers first, then what they write to.
    apiserver: Option<Process>,
    etcd: Process,
    options: ClusterOptions,
    ports: Ports,
    client: Client,
    folder: TempDir,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    apiserver: u16,
}

impl Cluster {
    /// Starts a cluster and returns when it answers everything, roles included.
    pub async fn start(options: ClusterOptions) -> Self {
        let mut folder = tempfile::Builder::new().prefix("ecm-test-").tempdir().expect("a temporary folder");
        folder.disable_cleanup(std::env::var_os("TESTS_KEEP").is_some());
        let [etcd, etcd_peer, apiserver] = ports::free();
        let ports = Ports { etcd, etcd_peer, apiserver };
        write_files(folder.path(), ports);
        let mut etcd = start_etcd(folder.path(), ports);
        let mut server = start_apiserver(folder.path(), ports, &options);
        let client = client_when_ready(folder.path(), &mut etcd, &mut server).await;
        let cluster = Self { apiserver: Some(server), etcd, options, ports, client, folder };
        cluster.bind_roles().await;
        cluster
    }

    /// A client of the operator.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client of someone else.
    pub async fn client_of(&self, user: User) -> Client {
        client(&self.kubeconfig(user)).await.expect("a client")
    }

    /// The kubeconfig file of a user.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        kubeconfig_path(self.folder.path(), user)
    }

    /// A kubeconfig file of a user with other fields of its cluster, such as `server` and `proxy-url`.
    pub fn kubeconfig_with(&self, user: User, cluster: &serde_json::Value) -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let text = std::fs::read_to_string(self.kubeconfig(user)).expect("a kubeconfig");
        let mut config: serde_json::Value = serde_json::from_str(&text).expect("a kubeconfig in JSON");
        let fields = config["clusters"][0]["cluster"].as_object_mut().expect("a cluster");
        fields.extend(cluster.as_object().expect("fields").clone());
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = self.folder().join(format!("other-{number}.kubeconfig"));
        std::fs::write(&path, config.to_string()).expect("writing a kubeconfig");
        path
    }

    /// Where the API server listens.
    pub fn apiserver_address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports.apiserver))
    }

    /// A folder that lives as long as the cluster.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where etcd listens for clients.
    pub fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.etcd)
    }

    /// What the API server says was asked of it.
    pub fn audit(&self) -> AuditLog {
        AuditLog::new(audit_log(self.folder.path()))
    }

    /// Crashes the API server; etcd keeps what was written.
    pub fn stop_apiserver(&mut self) {
        self.apiserver = None;
    }

    /// Lets the API server hang: it neither answers nor refuses.
    pub fn freeze_apiserver(&mut self) {
        self.apiserver.as_mut().expect("the API server runs").signal("STOP");
    }

    /// Starts the API server again at the same address, and waits until it is ready.
    pub async fn start_apiserver(&mut self) {
        assert!(self.apiserver.is_none(), "the API server runs already");
        let mut server = start_apiserver(self.folder.path(), self.ports, &self.options);
        self.client = client_when_ready(self.folder.path(), &mut self.etcd, &mut server).await;
        self.apiserver = Some(server);
    }

    /// Copies what etcd holds. The API server and etcd are away meanwhile.
    pub async fn back_up(&mut self) {
        self.stop_servers().await;
        copy_folder(&self.folder().join(ETCD_DATA), &self.folder().join(ETCD_BACKUP));
        self.start_servers().await;
    }

    /// Puts the last [backup](Self::back_up) in place of what etcd holds. The API server and etcd are away meanwhile.
    pub async fn restore(&mut self) {
        self.stop_servers().await;
        let data = self.folder().join(ETCD_DATA);
        std::fs::remove_dir_all(&data).expect("removing etcd's data");
        copy_folder(&self.folder().join(ETCD_BACKUP), &data);
        self.start_servers().await;
    }

    async fn stop_servers(&mut self) {
        self.stop_apiserver();
        self.etcd.signal("TERM");
        self.etcd.ended(LIMIT).await;
    }

    async fn start_servers(&mut self) {
        self.etcd = start_etcd(self.folder.path(), self.ports);
        self.start_apiserver().await;
    }

    /// Gives the controllers' user the rights that deploy/ gives for the election.
    pub async fn allow_election(&self) {
        const NAMESPACE: &str = "kube-system";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/base/rbac/leader-election.yaml");
        let text = std::fs::read_to_string(file).expect("the role of the election");
        let role = Role::deserialize(serde_yaml::Deserializer::from_str(&text)).expect("a role");
        let user = User::EndpointControllers.name();
        let binding = serde_json::json!({
            "metadata": {"name": "test:leader-election"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role.metadata.name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        });
        let binding: RoleBinding = serde_json::from_value(binding).expect("a binding");
        let roles: Api<Role> = Api::namespaced(self.client(), NAMESPACE);
        let bindings: Api<RoleBinding> = Api::namespaced(self.client(), NAMESPACE);
        let create = PostParams::default();
        // The namespace comes a moment after the server is ready.
        wait::until("a role", LIMIT, || roles.create(&create, &role)).await;
        bindings.create(&create, &binding).await.expect("binding a role");
    }

    /// Gives each controller's user its role, and waits until the authorizer knows.
    async fn bind_roles(&self) {
        let bindings: Api<ClusterRoleBinding> = Api::all(self.client());
        for (user, role) in
            User::ALL.iter().flat_map(|user| user.roles().iter().map(move |role| (user, role)))
        {
            let binding = serde_json::json!({
                "metadata": {"name": format!("test:{}:{role}", user.name())},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user.name()}],
            });
            let binding = serde_json::from_value(binding).expect("a binding");
            bindings.create(&PostParams::default(), &binding).await.expect("binding a role");
        }
        for user in User::ALL.into_iter().filter(|user| !user.roles().is_empty()) {
            // Of what the three roles have in common, Services are the one thing that all may list.
            let services: Api<k8s_openapi::api::core::v1::Service> = Api::all(self.client_of(user).await);
            let first = ListParams::default().limit(1);
            wait::until("rights of a controller's user", LIMIT, || services.list(&first)).await;
        }
    }
}

/// A client for a kubeconfig file.
///
/// # Errors
/// When the file is not a usable kubeconfig.
pub async fn client(kubeconfig: &Path) -> Result<Client, String> {
    let file = Kubeconfig::read_from(kubeconfig).map_err(|error| error.to_string())?;
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let config = config.map_err(|error| error.to_string())?;
    Client::try_from(config).map_err(|error| error.to_string())
}

fn kubeconfig_path(folder: &Path, user: User) -> PathBuf {
    folder.join(format!("{}.kubeconfig", user.name().replace(':', "-")))
}

fn audit_log(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}

fn write_files(folder: &Path, ports: Ports) {
    let write = |path: &Path, text: &str| std::fs::write(path, text).expect("writing a file of the cluster");
    write(&folder.join("tokens.csv"), &credentials::token_file());
    write(&folder.join("service-account.key"), &credentials::signing_key());
    write(&folder.join("audit-policy.yaml"), AUDIT_POLICY);
    let url = format!("https://127.0.0.1:{}", ports.apiserver);
    // Written by the API server at its first start: the certificate, then the authority that signed it.
    let authority = folder.join("certificates/apiserver.crt");
    for user in User::ALL {
        write(&kubeconfig_path(folder, user), &credentials::kubeconfig(user, &url, &authority));
    }
}

/// What tests ask about: every write, with its body where bodies are compared, and what the controllers read.
const AUDIT_POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: None
  userGroups: ["system:masters"]
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

/// Under the cluster's folder.
const ETCD_DATA: &str = "etcd";
const ETCD_BACKUP: &str = "etcd-backup";

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry of a folder");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("the type of a file").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copying a file");
        }
    }
}

fn start_etcd(folder: &Path, ports: Ports) -> Process {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    let args = [
        "--name=test".to_owned(),
        format!("--data-dir={ETCD_DATA}"),
        "--unsafe-no-fsync".to_owned(),
        // Room for the large clusters of the benchmarks.
        "--quota-backend-bytes=8589934592".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=test={peer}"),
    ];
    Process::start("etcd", &binaries::servers().etcd(), folder, args)
}

fn start_apiserver(folder: &Path, ports: Ports, options: &ClusterOptions) -> Process {
    let mut args = vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        format!("--secure-port={}", ports.apiserver),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        // A loopback address may not stand in the endpoints of the `kubernetes` Service.
        "--endpoint-reconciler-type=none".to_owned(),
        "--cert-dir=certificates".to_owned(),
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
    Process::start("kube-apiserver", &binaries::servers().kube_apiserver(), folder, args)
}

/// Waits until the API server has its certificate and says that it is ready.
async fn client_when_ready(folder: &Path, etcd: &mut Process, server: &mut Process) -> Client {
    let kubeconfig = kubeconfig_path(folder, User::Admin);
    let start = std::time::Instant::now();
    loop {
        etcd.alive().unwrap_or_else(|error| panic!("{error}"));
        server.alive().unwrap_or_else(|error| panic!("{error}"));
        let reason = match probe(&kubeconfig).await {
            Ok(client) => return client,
            Err(reason) => reason,
        };
        assert!(start.elapsed() < LIMIT, "API server not ready: {reason}; {}", server.tail());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
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
