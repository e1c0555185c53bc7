//! The configuration of connections to API servers, and the wait for the API server at start.

pub mod server_version;

use std::path::Path;
use std::time::Duration;

use kube::config::InClusterError;
use kube_api::time::{Instant, sleep, timeout_at};
use kube_api::{
    ApiClient, ApiError, ConnectError, KubeconfigError, error_chain, load_kubeconfig, load_kubeconfig_for,
    load_user_kubeconfig,
};
use tracing::warn;

use crate::config::ApiServer;
use server_version::ServerVersion;

/// For an API server that is starting (upstream: 10 s).
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Reasons for not having a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    #[error("neither --kubeconfig nor --master is set, and there is no in-cluster configuration")]
    NotInCluster(#[source] InClusterError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("gave up waiting for the API server at {server}")]
    Unreachable { server: String, source: ApiError },
}

/// The configuration for the API server: a kubeconfig, else an address alone, else the cluster this process runs in. A command of
/// a user reads, before that, the kubeconfig that kubectl reads.
pub(crate) async fn load(api_server: &ApiServer, is_command: bool) -> Result<kube::Config, ConnectionError> {
    let mut config = match (&api_server.kubeconfig, &api_server.master) {
        (Some(path), master) => load_kubeconfig_for("--kubeconfig", path, master.as_ref()).await?,
        (None, Some(master)) => kube::Config::new(master.clone()),
        (None, None) if is_command => load_user_kubeconfig(None, None).await?,
        (None, None) => kube::Config::incluster().map_err(ConnectionError::NotInCluster)?,
    };
    config.disable_compression = api_server.disable_compression;
    Ok(config)
}

/// The configuration for token or access reviews: the kubeconfig that `flag` names, else that of the cluster this process
/// runs in. None, with a warning, outside of a cluster.
pub(crate) async fn load_delegated(
    flag: &'static str,
    kubeconfig: Option<&Path>,
) -> Result<Option<kube::Config>, ConnectionError> {
    if let Some(path) = kubeconfig {
        return Ok(Some(load_kubeconfig(flag, path).await?));
    }
    let missing = |error: &InClusterError| {
        let err = std::env::var_os("KUBERNETES_SERVICE_HOST").map(|_| error_chain(error));
        warn!(flag, err, "No API server reviews requests, because none is configured");
    };
    Ok(kube::Config::incluster().inspect_err(missing).ok())
}

/// Requests `/version` until there is a response, and returns it. A refusal is a response too.
pub(crate) async fn wait_for_api_server(
    client: &ApiClient,
    config: &kube::Config,
) -> Result<Option<ServerVersion>, ConnectionError> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        let answer = timeout_at(deadline, server_version::read(client)).await;
        match answer.unwrap_or(Err(ApiError::Timeout(START_TIMEOUT))) {
            Ok(version) => return Ok(version),
            Err(source) if Instant::now() >= deadline => {
                let server = config.cluster_url.to_string();
                return Err(ConnectionError::Unreachable { server, source });
            }
            Err(error) => warn!(err = error_chain(&error), "Waiting for the API server"),
        }
        sleep(Duration::from_secs(1)).await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use kube_api::{Encoding, connect};

    use super::*;
    use crate::config::LogFormat;
    use crate::logging::tests::logged;

    #[tokio::test]
    async fn no_credentials_are_sent_to_a_master_without_tls() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kubeconfig");
        let text = "{current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], \
                    users: [{name: u, user: {token: secret}}], clusters: [{name: c, cluster: {server: 'https://k8s'}}]}";
        std::fs::write(&path, text).unwrap();
        for (master, sends_token) in [(None, true), (Some("http://k8s:8080"), false)] {
            let master = master.map(|url: &str| url.parse::<http::Uri>().unwrap());
            let api_server =
                ApiServer { kubeconfig: Some(path.clone()), master: master.clone(), ..ApiServer::default() };
            let config = load(&api_server, false).await.unwrap();
            assert_eq!(config.auth_info.token.is_some(), sends_token, "{master:?}");
            assert_eq!(config.cluster_url.host(), Some("k8s"));
            assert_eq!(config.cluster_url.port_u16(), master.and_then(|url| url.port_u16()));
        }
    }

    #[test]
    fn reviews_that_are_not_available_are_logged() {
        let text = logged(LogFormat::Text, || {
            let loaded = load_delegated("--some-kubeconfig", None).now_or_never();
            assert!(loaded.unwrap().unwrap().is_none());
        });
        assert!(text.starts_with('W') && text.ends_with(" flag=\"--some-kubeconfig\"\n"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_given_up_after_the_start_timeout() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let config = kube::Config::new(url.parse().unwrap());
        let client = ApiClient::new(connect(&config).unwrap(), Encoding::Json, "test");
        let start = Instant::now();
        let error = wait_for_api_server(&client, &config).await.unwrap_err();
        assert!(matches!(error, ConnectionError::Unreachable { .. }), "{error}");
        assert!(start.elapsed() <= START_TIMEOUT + Duration::from_secs(1), "{:?}", start.elapsed());
    }
}
