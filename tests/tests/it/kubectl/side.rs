//! The two servers.

use std::path::{Path, PathBuf};

use kube::Client;
use serde_json::{Value, json};
use tests::cluster::{Cluster, ClusterOptions, User};

/// A server, as kubectl and requests reach it.
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) client: Client,
    /// Points to namespace `web`.
    pub(super) kubeconfig: PathBuf,
    _running: Running,
}

enum Running {
    Real(#[expect(dead_code, reason = "runs until it is dropped")] Box<Cluster>),
}

impl Side {
    pub(super) async fn real() -> Self {
        let cluster = Box::pin(Cluster::start(ClusterOptions::default())).await;
        let kubeconfig = in_namespace(&cluster.kubeconfig(User::Admin), cluster.folder());
        Self {
            name: "real",
            client: cluster.client(),
            kubeconfig,
            _running: Running::Real(Box::new(cluster)),
        }
    }

    pub(super) async fn embedded() -> Self {
        let mut side = Self::real().await;
        side.name = "embedded";
        side
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
    pub(super) async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let request =
            http::Request::builder().method(method).uri(path).header("Content-Type", "application/json");
        let request = request.body(body.to_string().into_bytes()).expect("a request");
        match self.client.request::<Value>(request).await {
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
