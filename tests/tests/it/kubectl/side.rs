//! The servers.

use std::path::{Path, PathBuf};

use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::binaries;
use tests::cluster::{self, Cluster, ClusterOptions, User};
use tests::process::Process;
use tests::requests;
use tests::wait::{self, LIMIT};

/// A server, as kubectl and requests reach it.
pub(crate) struct Side {
    pub(super) name: &'static str,
    pub(super) client: Client,
    /// Points to namespace `web`.
    pub(crate) kubeconfig: PathBuf,
    _running: Running,
}

/// Runs until it is dropped.
enum Running {
    Cluster { _cluster: Box<Cluster> },
    Simulation { _process: Process, _folder: TempDir },
}

impl Side {
    pub(super) async fn real() -> Self {
        Self::of("real", Box::pin(Cluster::start(ClusterOptions::default())).await)
    }

    /// Without the controllers' work, as the real one.
    pub(super) async fn embedded() -> Self {
        Self::of("embedded", Cluster::embedded().await)
    }

    fn of(name: &'static str, cluster: Cluster) -> Self {
        let kubeconfig = in_namespace(&cluster.kubeconfig(User::Admin), cluster.folder());
        let client = cluster.client();
        Self { name, client, kubeconfig, _running: Running::Cluster { _cluster: Box::new(cluster) } }
    }

    /// `simulate --serve` without input, with the controllers at work.
    pub(crate) async fn simulation() -> Self {
        let folder = tempfile::Builder::new().prefix("ecm-simulate-").tempdir().expect("a folder");
        let kubeconfig = folder.path().join("kubeconfig");
        let args = ["simulate", "--serve", "--write-kubeconfig"].map(PathBuf::from);
        let args = args.into_iter().chain([kubeconfig.clone()]);
        let program = binaries::kubectl_endpoints();
        let process = Process::start("endpoint-controller-manager", &program, folder.path(), args);
        let client = wait::until("the server of the simulation", LIMIT, async || {
            let client = cluster::client(&kubeconfig).await?;
            client.apiserver_version().await.map_err(|error| error.to_string())?;
            Ok::<_, String>(client)
        })
        .await;
        let running = Running::Simulation { _process: process, _folder: folder };
        Self { name: "simulation", client, kubeconfig, _running: running }
    }

    /// A GET with an `Accept` header; the answer as JSON.
    pub(super) async fn get(&self, path: &str, accept: &str) -> Value {
        let request = http::Request::get(path).header("Accept", accept).body(Vec::new()).expect("a request");
        let text = self.client.request_text(request).await;
        let text = text.unwrap_or_else(|error| panic!("GET {path} of the {} server: {error}", self.name));
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("GET {path} of the {} server: {error}", self.name))
    }

    /// A request with a JSON body; the answer, whatever its status.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        match requests::send(&self.client, method, path, body).await {
            Ok(answer) => answer,
            Err(kube::Error::Api(status)) => serde_json::to_value(status).expect("a Status"),
            Err(error) => panic!("{method} {path} of the {} server: {error}", self.name),
        }
    }
}

/// Writes the kubeconfig again, with the namespace of the script.
fn in_namespace(kubeconfig: &Path, folder: &Path) -> PathBuf {
    let text = std::fs::read_to_string(kubeconfig).expect("a kubeconfig");
    let mut config: Value = serde_json::from_str(&text).expect("a kubeconfig in JSON");
    config["contexts"][0]["context"]["namespace"] = json!("web");
    let path = folder.join("web.kubeconfig");
    std::fs::write(&path, config.to_string()).expect("writing a kubeconfig");
    path
}
