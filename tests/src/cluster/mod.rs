//! A Kubernetes control plane without controllers: etcd and kube-apiserver on free loopback ports, or the embedded API
//! server on one.

mod embedded;
mod prepared;
mod seed;
mod servers;

use std::fmt::Display;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::audit::AuditLog;
use crate::binaries;
use crate::manager::Kind;
use crate::plant;
use crate::ports;
use crate::process::Process;
use crate::release;
use crate::requests;
use crate::wait::{self, LIMIT};

use self::embedded::EmbeddedServer;
use self::prepared::Prepared;
use self::servers::{
    ETCD_DATA, audit_log, client_when_ready, kubeconfig_path, start_apiserver, start_etcd, write_files,
};

pub use self::seed::Seed;
pub use crate::credentials::{User, kubeconfig};

/// Options of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The ranges of cluster IPs, one per family, the default family first.
    pub service_cluster_ip_range: String,
    /// More flags for the API server.
    pub apiserver_flags: Vec<String>,
    /// The API server's memory, such as `2GiB`: it collects garbage only when it comes near, which saves CPU for a run
    /// of many requests.
    pub memory_limit: Option<String>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            service_cluster_ip_range: "10.96.0.0/16,fd00:96::/112".to_owned(),
            apiserver_flags: Vec::new(),
            memory_limit: None,
        }
    }
}

/// A running cluster. Dropping it ends its processes and deletes its directory, which has their logs. A test that fails
/// keeps it, as `TESTS_KEEP=1` in the environment does for all.
pub struct Cluster {
    // Fields drop in this order: servers before the folders they write to.
    servers: Servers,
    client: Client,
    folder: TempDir,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            eprintln!("the logs of the servers and programs are kept in {}", self.folder.path().display());
        }
    }
}

/// The servers of a cluster.
enum Servers {
    Real(Box<RealServers>),
    Embedded(EmbeddedServer),
}

/// etcd and kube-apiserver.
struct RealServers {
    apiserver: Option<Process>,
    etcd: Process,
    options: ClusterOptions,
    ports: Ports,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    apiserver: u16,
}

impl Cluster {
    /// Starts a cluster and returns when it answers all requests, roles included.
    ///
    /// It starts from a prepared state, in half the time, unless its options ask for other objects.
    pub async fn start(options: ClusterOptions) -> Self {
        let default = ClusterOptions::default();
        if options.service_cluster_ip_range == default.service_cluster_ip_range {
            Self::start_with(options, Some(Prepared::get().await)).await
        } else {
            Self::start_with(options, None).await
        }
    }

    async fn start_with(options: ClusterOptions, prepared: Option<Prepared>) -> Self {
        let folder = folder();
        let [etcd, etcd_peer, apiserver] = ports::free();
        let ports = Ports { etcd, etcd_peer, apiserver };
        if plant::is_planted(plant::LOST_PORT) {
            std::mem::forget(TcpListener::bind((Ipv4Addr::LOCALHOST, apiserver)).expect("a free port"));
        }
        write_files(folder.path(), ports.apiserver);
        let is_new = prepared.is_none();
        if let Some(prepared) = prepared {
            prepared.write(folder.path());
        }
        let mut etcd = start_etcd(folder.path(), ports);
        let mut server = start_apiserver(folder.path(), ports, &options);
        if plant::is_planted(plant::SLOW_SERVER) {
            server.signal("STOP");
        }
        let client = client_when_ready(folder.path(), &mut etcd, &mut server).await;
        let servers = RealServers { apiserver: Some(server), etcd, options, ports };
        let cluster = Self { servers: Servers::Real(Box::new(servers)), client, folder };
        if is_new {
            for user in User::ALL {
                cluster.grant_roles(user).await;
            }
        }
        cluster.wait_for_permissions().await;
        cluster
    }

    /// Starts the embedded API server over HTTPS in this process, for tests that are not about the API server. It refuses
    /// no user, so permissions are not tested. It writes the audit log that [`Self::audit`] reads.
    pub async fn embedded() -> Self {
        let folder = folder();
        let [port] = ports::free();
        write_files(folder.path(), port);
        let server = EmbeddedServer::start(folder.path(), port).await;
        let client = client(&kubeconfig_path(folder.path(), User::Admin)).await.expect("a client");
        Self { servers: Servers::Embedded(server), client, folder }
    }

    fn real(&self) -> &RealServers {
        match &self.servers {
            Servers::Real(servers) => servers,
            Servers::Embedded(_) => panic!("the embedded API server has no etcd"),
        }
    }

    fn real_mut(&mut self) -> &mut RealServers {
        match &mut self.servers {
            Servers::Real(servers) => servers,
            Servers::Embedded(_) => panic!("the embedded API server has no etcd"),
        }
    }

    /// The flag of a manager on the release of this cluster.
    pub(crate) fn manager_flag(&self, kind: Kind) -> Option<String> {
        match &self.servers {
            Servers::Real(_) => release::manager_flag(binaries::servers().minor(), kind),
            Servers::Embedded(_) => None,
        }
    }

    /// A client with the operator's permissions.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client with the permissions of `user`.
    pub async fn client_of(&self, user: User) -> Client {
        client(&self.kubeconfig(user)).await.expect("a client")
    }

    /// The kubeconfig file of a user.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        kubeconfig_path(self.folder.path(), user)
    }

    /// A kubeconfig file of a user with another host and port of the server, such as a proxy's. The certificate is for all ports of
    /// the loopback address.
    pub fn kubeconfig_at(&self, user: User, server: impl Display) -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let text = std::fs::read_to_string(self.kubeconfig(user)).expect("a kubeconfig");
        let mut config: Value = serde_json::from_str(&text).expect("a kubeconfig in JSON");
        config["clusters"][0]["cluster"]["server"] = format!("https://{server}").into();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = self.folder().join(format!("other-{number}.kubeconfig"));
        std::fs::write(&path, config.to_string()).expect("writing a kubeconfig");
        path
    }

    /// The address on which the API server listens.
    pub fn apiserver_address(&self) -> SocketAddr {
        let port = match &self.servers {
            Servers::Real(servers) => servers.ports.apiserver,
            Servers::Embedded(server) => server.port(),
        };
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    /// A folder that lives as long as the cluster.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address on which etcd listens for clients.
    pub fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.real().ports.etcd)
    }

    /// The audit log of the API server.
    pub fn audit(&self) -> AuditLog {
        AuditLog::new(audit_log(self.folder.path()))
    }

    /// Kills the API server; etcd keeps the written objects.
    pub fn stop_apiserver(&mut self) {
        match &mut self.servers {
            Servers::Real(servers) => servers.apiserver = None,
            Servers::Embedded(server) => server.stop(),
        }
    }

    /// Stops the API server's process without ending it: it neither answers nor refuses.
    pub async fn freeze_apiserver(&mut self) {
        self.real_mut().apiserver.as_mut().expect("the API server runs").freeze().await;
    }

    /// Lets the API server's process continue.
    pub fn thaw_apiserver(&mut self) {
        self.real_mut().apiserver.as_mut().expect("the API server runs").signal("CONT");
    }

    /// Starts the API server again at the same address, and waits until it is ready.
    pub async fn start_apiserver(&mut self) {
        let folder = self.folder.path();
        match &mut self.servers {
            Servers::Real(servers) => {
                assert!(servers.apiserver.is_none(), "the API server runs already");
                let mut server = start_apiserver(folder, servers.ports, &servers.options);
                self.client = client_when_ready(folder, &mut servers.etcd, &mut server).await;
                servers.apiserver = Some(server);
            }
            Servers::Embedded(server) => server.serve().await,
        }
    }

    /// Copies the data of etcd. The API server and etcd are down meanwhile.
    pub async fn back_up(&mut self) {
        self.stop_servers().await;
        let backup = self.folder().join(ETCD_BACKUP);
        if backup.exists() {
            fs::remove_dir_all(&backup).expect("removing the backup before");
        }
        copy_folder(&self.folder().join(ETCD_DATA), &backup);
        self.start_servers().await;
    }

    /// Replaces the data of etcd by the last [backup](Self::back_up). The API server and etcd are down meanwhile.
    pub async fn restore(&mut self) {
        self.stop_servers().await;
        let data = self.folder().join(ETCD_DATA);
        fs::remove_dir_all(&data).expect("removing etcd's data");
        copy_folder(&self.folder().join(ETCD_BACKUP), &data);
        self.start_servers().await;
    }

    async fn stop_servers(&mut self) {
        self.stop_apiserver();
        let etcd = &mut self.real_mut().etcd;
        etcd.signal("TERM");
        etcd.ended(LIMIT).await;
    }

    async fn start_servers(&mut self) {
        let ports = self.real().ports;
        self.real_mut().etcd = start_etcd(self.folder.path(), ports);
        self.start_apiserver().await;
    }

    /// Grants the controllers' user the permissions that deploy/ grants for the authentication and authorization of clients.
    pub async fn allow_delegation(&self) {
        if matches!(self.servers, Servers::Embedded(_)) {
            return;
        }
        let user = requests::user(User::EndpointControllers.name());
        self.bind(None, "system:auth-delegator", &user).await;
        self.bind(Some(SYSTEM), "extension-apiserver-authentication-reader", &user).await;
    }

    /// Grants a service account the permission of deploy/ to read metrics.
    pub async fn allow_scraping(&self, namespace: &str, account: &str) {
        if matches!(self.servers, Servers::Embedded(_)) {
            return;
        }
        let role = self.create_manifest("deploy/base/rbac/metrics-reader.yaml").await;
        self.bind(None, &role, &requests::account(namespace, account)).await;
    }

    /// Grants a user the permissions of deploy/shadow, and waits until the authorizer has loaded them.
    pub async fn allow_shadow(&self, user: User) {
        let documents = documents("deploy/shadow/shadow.yaml");
        let role = documents.iter().find(|document| document["kind"] == "ClusterRole");
        let role = self.create_or_find(role.expect("a role in deploy/shadow")).await;
        self.bind(None, &role, &requests::user(user.name())).await;
        let services: Api<k8s_openapi::api::core::v1::Service> = Api::all(self.client_of(user).await);
        let first = ListParams::default().limit(1);
        wait::until("permissions to read", LIMIT, || services.list(&first)).await;
    }

    /// Binds a `ClusterRole`, or a Role of a namespace.
    async fn bind(&self, namespace: Option<&str>, role: &str, subject: &Value) {
        let name = binding_name(subject["name"].as_str().expect("a name"), role);
        let binding = requests::binding(&name, namespace, role, subject);
        // The namespace of Roles is created shortly after the server is ready.
        wait::until("a binding", LIMIT, || requests::create(&self.client, &binding)).await;
    }

    /// Creates a namespace with a service account that has the permission of deploy/ to read metrics; its token.
    pub async fn scraper(&self, namespace: &str, account: &str) -> String {
        let create = async |kind: &str, metadata: Value| {
            let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
            requests::create(&self.client, &object).await.expect("creating a scraper");
        };
        create("Namespace", json!({"name": namespace})).await;
        create("ServiceAccount", json!({"name": account, "namespace": namespace})).await;
        self.allow_scraping(namespace, account).await;
        self.token(namespace, account).await
    }

    /// A token of a service account.
    pub async fn token(&self, namespace: &str, account: &str) -> String {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let answer = requests::must(&self.client, "POST", &path, &request).await;
        answer["status"]["token"].as_str().expect("a token").to_owned()
    }

    /// Creates the Lease of deploy/, and grants the controllers' user the permissions that deploy/ grants for the election.
    pub async fn allow_election(&self) {
        if matches!(self.servers, Servers::Embedded(_)) {
            return;
        }
        self.create_lease().await;
        let role = self.create_manifest("deploy/base/rbac/leader-election.yaml").await;
        self.bind(Some(SYSTEM), &role, &requests::user(User::EndpointControllers.name())).await;
    }

    /// Creates the Lease of deploy/, if it does not exist: the controllers' user may not.
    pub async fn create_lease(&self) {
        self.create_manifest("deploy/base/rbac/lease.yaml").await;
    }

    /// Creates the first object of a manifest of the workspace, if it does not exist yet; its name.
    async fn create_manifest(&self, file: &str) -> String {
        self.create_or_find(&documents(file)[0]).await
    }

    async fn create_or_find(&self, object: &Value) -> String {
        // Its namespace is created shortly after the server is ready.
        wait::until("an object of a manifest", LIMIT, async || {
            match requests::create(&self.client, object).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
                created => created.map(drop),
            }
        })
        .await;
        object["metadata"]["name"].as_str().expect("a name").to_owned()
    }

    /// Binds a controller's user to its roles.
    pub async fn grant_roles(&self, user: User) {
        for role in user.roles() {
            self.bind(None, role, &requests::user(user.name())).await;
        }
    }

    /// Takes its roles away from a controller's user: its requests are refused with 403 from then on.
    pub async fn withdraw_roles(&self, user: User) {
        let bindings: Api<ClusterRoleBinding> = Api::all(self.client());
        for role in user.roles() {
            let name = binding_name(user.name(), role);
            bindings.delete(&name, &DeleteParams::default()).await.expect("deleting a binding");
        }
    }

    /// Waits until the authorizer has loaded the roles of all users.
    async fn wait_for_permissions(&self) {
        for user in User::ALL.into_iter().filter(|user| !user.roles().is_empty()) {
            // Services are the only resource that all three roles may list.
            let services: Api<k8s_openapi::api::core::v1::Service> = Api::all(self.client_of(user).await);
            let first = ListParams::default().limit(1);
            wait::until("permissions of a controller's user", LIMIT, || services.list(&first)).await;
        }
    }
}

/// The namespace of Leases and of the roles for them.
const SYSTEM: &str = "kube-system";

fn binding_name(subject: &str, role: &str) -> String {
    format!("test:{subject}:{role}")
}

/// The objects of a manifest of the workspace.
fn documents(file: &str) -> Vec<Value> {
    requests::manifest(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file))
}

/// A temporary folder for the files of a cluster.
fn folder() -> TempDir {
    let mut folder = tempfile::Builder::new().prefix("ecm-test-").tempdir().expect("a temporary folder");
    folder.disable_cleanup(std::env::var_os("TESTS_KEEP").is_some());
    folder
}

/// A client for a kubeconfig file.
///
/// # Errors
/// If the file is not a usable kubeconfig.
pub async fn client(kubeconfig: &Path) -> Result<Client, String> {
    let file = Kubeconfig::read_from(kubeconfig).map_err(|error| error.to_string())?;
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let config = config.map_err(|error| error.to_string())?;
    Client::try_from(config).map_err(|error| error.to_string())
}

/// The folder of the [backup](Cluster::back_up), under the cluster's.
const ETCD_BACKUP: &str = "etcd-backup";

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry of a folder");
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().expect("the type of a file").is_dir() {
            copy_folder(&path, &target);
        } else if path.extension().is_none_or(|extension| extension != "tmp") {
            copy_sparse(&path, &target);
        }
    }
}

/// etcd allocates its log in advance, 64 MB of zeros: those at the end of a file take no space in its copy.
fn copy_sparse(from: &Path, to: &Path) {
    let bytes = fs::read(from).expect("reading a file of a cluster");
    let mut content = bytes.as_slice();
    while let Some(rest) = content.strip_suffix(&[0; 4096]) {
        content = rest;
    }
    let mut file = File::create(to).expect("a file of a cluster");
    file.write_all(content).expect("writing a file of a cluster");
    file.set_len(u64::try_from(bytes.len()).unwrap()).expect("the length of a file");
}
