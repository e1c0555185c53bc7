//! The way to the API server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use controller_runtime::api::{ApiClient, ApiError, ConnectError, Encoding, connect};
use controller_runtime::error_chain;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::clients::Guise;
use crate::config::ApiServer;

/// How long a starting API server is waited for (upstream: 10 s).
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error("{flag}: cannot use {path}")]
    Kubeconfig { flag: &'static str, path: PathBuf, source: KubeconfigError },
    #[error("no --kubeconfig and no --master given, and not running inside a cluster")]
    NotInCluster(#[source] InClusterError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the API server at {server} does not answer")]
    Unreachable { server: String, source: ApiError },
}

/// The connection's configuration: a kubeconfig, else an address alone, else the cluster we run in.
pub(crate) async fn load(api_server: &ApiServer) -> Result<kube::Config, ConnectionError> {
    let mut config = match (&api_server.kubeconfig, &api_server.master) {
        (Some(path), _) => read("--kubeconfig", path).await?,
        (None, Some(master)) => kube::Config::new(master.clone()),
        (None, None) => kube::Config::incluster().map_err(ConnectionError::NotInCluster)?,
    };
    if let Some(master) = &api_server.master {
        config.cluster_url = master.clone();
    }
    Ok(config)
}

async fn read(flag: &'static str, path: &Path) -> Result<kube::Config, ConnectionError> {
    let failed = |source| ConnectionError::Kubeconfig { flag, path: path.to_owned(), source };
    let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(failed)
}

/// A client for questions about others: by the kubeconfig that `flag` names, else that of the cluster we run in. None
/// outside of a cluster.
pub(crate) async fn delegate(
    guise: &Guise,
    flag: &'static str,
    kubeconfig: Option<&Path>,
) -> Result<Option<ApiClient>, ConnectionError> {
    let config = match kubeconfig {
        Some(path) => read(flag, path).await?,
        None => match kube::Config::incluster() {
            Ok(config) => config,
            Err(_) => return Ok(None),
        },
    };
    Ok(Some(guise.client(connect(&config)?, &config, Encoding::Json, "delegated")))
}

/// Asks for the version until there is an answer. A refusal is an answer: permissions may come later.
pub(crate) async fn wait_for_api_server(
    client: &ApiClient,
    config: &kube::Config,
) -> Result<(), ConnectionError> {
    let start = Instant::now();
    loop {
        match client.get_raw("/version").await {
            Ok(_) | Err(ApiError::Refused(_)) => return Ok(()),
            Err(source) if start.elapsed() >= START_TIMEOUT => {
                let server = config.cluster_url.to_string();
                return Err(ConnectionError::Unreachable { server, source });
            }
            Err(error) => warn!(err = error_chain(&error), "Waiting for the API server"),
        }
        sleep(Duration::from_secs(1)).await;
    }
}
