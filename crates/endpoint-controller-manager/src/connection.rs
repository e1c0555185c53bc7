//! The configuration of connections to API servers, and the wait for the API server at start.

pub mod server_version;

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use http::uri::InvalidUri;
use kube::config::{Cluster, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube_api::error_chain;
use kube_api::time::{Instant, sleep, timeout_at};
use kube_api::{ApiClient, ApiError, ConnectError};
use tracing::warn;

use crate::config::ApiServer;
use server_version::ServerVersion;

/// For an API server that is starting (upstream: 10 s).
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Reasons for not having a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error("{flag}: cannot read {path}")]
    Unreadable { flag: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{flag}: cannot use the kubeconfig {path}")]
    Kubeconfig { flag: &'static str, path: PathBuf, source: KubeconfigError },
    #[error("{flag}: proxy-url of the current cluster in {path} is not a URL")]
    ProxyUrl { flag: &'static str, path: PathBuf, source: InvalidUri },
    #[error("neither --kubeconfig nor --master is set, and there is no in-cluster configuration")]
    NotInCluster(#[source] InClusterError),
    #[error("there is no kubeconfig: give --kubeconfig, set KUBECONFIG, or write ~/.kube/config")]
    NoKubeconfig,
    #[error("the kubeconfig has no context {0}")]
    NoContext(String),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("gave up waiting for the API server at {server}")]
    Unreachable { server: String, source: ApiError },
}

/// The configuration for the API server: a kubeconfig, else an address alone, else the cluster this process runs in. A command of
/// a user reads, before that, the kubeconfig that kubectl reads.
pub(crate) async fn load(api_server: &ApiServer, is_command: bool) -> Result<kube::Config, ConnectionError> {
    let mut config = match (&api_server.kubeconfig, &api_server.master) {
        (Some(path), _) => read("--kubeconfig", path).await?,
        (None, Some(master)) => kube::Config::new(master.clone()),
        (None, None) if is_command => of_user(None, None).await?,
        (None, None) => kube::Config::incluster().map_err(ConnectionError::NotInCluster)?,
    };
    if let Some(master) = &api_server.master {
        config.cluster_url = master.clone();
    }
    config.disable_compression = api_server.disable_compression;
    Ok(config)
}

/// Reads a kubeconfig once, as upstream does. `connect` reads the files that it names again when they change.
async fn read(flag: &'static str, path: &Path) -> Result<kube::Config, ConnectionError> {
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| unusable(flag, path, error))?;
    configure(kubeconfig, flag, path).await
}

/// The configuration for a user's command: the kubeconfig of `--kubeconfig`, else those of `$KUBECONFIG`, else that of the
/// home directory, else that of the cluster this process runs in.
///
/// # Errors
/// A line about the kubeconfig.
pub async fn load_for_user(path: Option<&Path>, context: Option<&str>) -> Result<kube::Config, String> {
    of_user(path, context).await.map_err(|error| error_chain(&error))
}

async fn of_user(path: Option<&Path>, context: Option<&str>) -> Result<kube::Config, ConnectionError> {
    let flag = if path.is_some() { "--kubeconfig" } else { "KUBECONFIG" };
    let place = path.map_or_else(default_kubeconfig, Path::to_owned);
    let read = path.map_or_else(default_files, Kubeconfig::read_from);
    let mut kubeconfig = match read {
        Ok(kubeconfig) => kubeconfig,
        Err(_) if path.is_none() && std::env::var_os("KUBECONFIG").is_none() && !place.exists() => {
            return kube::Config::incluster().map_err(|_| ConnectionError::NoKubeconfig);
        }
        Err(error) => return Err(unusable(flag, &place, error)),
    };
    if let Some(context) = context {
        if !kubeconfig.contexts.iter().any(|known| known.name == context) {
            return Err(ConnectionError::NoContext(context.to_owned()));
        }
        kubeconfig.current_context = Some(context.to_owned());
    }
    configure(kubeconfig, flag, &place).await
}

/// The kubeconfig of a user who names none: the files of `$KUBECONFIG` as client-go reads them, which leaves out those that do not
/// exist, unless none does, and takes the first context that is named.
fn default_files() -> Result<Kubeconfig, KubeconfigError> {
    let list = std::env::var_os("KUBECONFIG").unwrap_or_default();
    merged(std::env::split_paths(&list).filter(|path| path.exists())).unwrap_or_else(Kubeconfig::read)
}

/// One kubeconfig of several files; none without a file.
fn merged(files: impl Iterator<Item = PathBuf>) -> Option<Result<Kubeconfig, KubeconfigError>> {
    let read = |path| {
        let mut kubeconfig = Kubeconfig::read_from(path)?;
        kubeconfig.current_context = kubeconfig.current_context.filter(|context| !context.is_empty());
        Ok(kubeconfig)
    };
    files.map(read).reduce(|merged, next| merged?.merge(next?))
}

/// The kubeconfig of a user who names none, for messages.
fn default_kubeconfig() -> PathBuf {
    std::env::var_os("KUBECONFIG")
        .map_or_else(|| std::env::home_dir().unwrap_or_default().join(".kube/config"), PathBuf::from)
}

/// The error about the kubeconfig that `flag` names.
fn unusable(flag: &'static str, path: &Path, error: KubeconfigError) -> ConnectionError {
    match error {
        // Its own message would name the file once more.
        KubeconfigError::ReadConfig(source, path) => ConnectionError::Unreadable { flag, path, source },
        source => ConnectionError::Kubeconfig { flag, path: path.to_owned(), source },
    }
}

async fn configure(
    mut kubeconfig: Kubeconfig,
    flag: &'static str,
    path: &Path,
) -> Result<kube::Config, ConnectionError> {
    let (authorities, proxy) = match current_cluster(&mut kubeconfig) {
        Some(cluster) => (authorities_file(cluster), take_proxy(cluster)),
        None => (None, Ok(None)),
    };
    let proxy = proxy.map_err(|source| ConnectionError::ProxyUrl { flag, path: path.to_owned(), source })?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| unusable(flag, path, error))?;
    config.root_cert_file = authorities;
    config.proxy_url = proxy;
    Ok(config)
}

/// The cluster of the current context.
fn current_cluster(kubeconfig: &mut Kubeconfig) -> Option<&mut Cluster> {
    let current = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == *current)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter_mut().find(|cluster| cluster.name == context.cluster)?;
    cluster.cluster.as_mut()
}

/// The file with the authorities of servers, unless the kubeconfig embeds them.
fn authorities_file(cluster: &Cluster) -> Option<PathBuf> {
    let embedded = cluster.certificate_authority_data.is_some();
    cluster.certificate_authority.as_ref().filter(|_| !embedded).map(PathBuf::from)
}

/// Takes the proxy out of the kubeconfig, and leaves a placeholder: without any, kube would read the environment, by
/// rules that are not Go's. `connect` follows Go's.
fn take_proxy(cluster: &mut Cluster) -> Result<Option<Uri>, InvalidUri> {
    let given = cluster.proxy_url.replace("http://not.used".to_owned());
    given.filter(|url| !url.is_empty()).map(|url| url.parse()).transpose()
}

/// The configuration for token or access reviews: the kubeconfig that `flag` names, else that of the cluster this process
/// runs in. None outside of a cluster.
pub(crate) async fn load_delegated(
    flag: &'static str,
    kubeconfig: Option<&Path>,
) -> Result<Option<kube::Config>, ConnectionError> {
    match kubeconfig {
        Some(path) => read(flag, path).await.map(Some),
        None => Ok(kube::Config::incluster().ok()),
    }
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
    use kube_api::{Encoding, connect};

    use super::*;

    #[test]
    fn the_authorities_file_is_that_of_the_current_context() {
        let file = |current: &str| {
            let text = format!(
                "{{current-context: {current}, \
                 contexts: [{{name: a, context: {{cluster: file}}}}, {{name: b, context: {{cluster: data}}}}], \
                 clusters: [{{name: data, cluster: {{certificate-authority: /x, certificate-authority-data: eA==}}}}, \
                 {{name: file, cluster: {{certificate-authority: /ca.crt}}}}]}}"
            );
            authorities_file(current_cluster(&mut Kubeconfig::from_yaml(&text).unwrap())?)
        };
        assert_eq!(file("a"), Some("/ca.crt".into()));
        assert_eq!(file("b"), None);
        assert_eq!(file("c"), None);
    }

    #[test]
    fn of_several_kubeconfigs_the_first_context_that_is_named_is_current() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        };
        let first = file("a", "{current-context: '', contexts: [{name: x, context: {cluster: c}}]}");
        let second = file("b", "{current-context: y, contexts: [{name: y, context: {cluster: c}}]}");
        let kubeconfig = merged([first, second].into_iter()).unwrap().unwrap();
        assert_eq!((kubeconfig.current_context.as_deref(), kubeconfig.contexts.len()), (Some("y"), 2));
        assert!(merged([folder.path().join("none")].into_iter()).unwrap().is_err());
        assert!(merged(std::iter::empty()).is_none());
    }

    #[tokio::test]
    async fn the_proxy_is_that_of_the_kubeconfig_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let proxy = async |field: &str| {
            let text = format!(
                "{{current-context: a, contexts: [{{name: a, context: {{cluster: c, user: u}}}}], \
                 users: [{{name: u, user: {{}}}}], clusters: [{{name: c, cluster: {{server: 'https://k8s'{field}}}}}]}}"
            );
            std::fs::write(&path, text).unwrap();
            let config = read("--kubeconfig", &path).await;
            config.map(|config| config.proxy_url.map(|url| url.to_string()))
        };
        assert_eq!(proxy("").await.unwrap(), None);
        assert_eq!(proxy(", proxy-url: ''").await.unwrap(), None);
        assert_eq!(proxy(", proxy-url: 'http://p:1'").await.unwrap().as_deref(), Some("http://p:1/"));
        let error = error_chain(&proxy(", proxy-url: 'http://me:sec ret@p'").await.unwrap_err());
        assert!(error.contains("proxy-url") && !error.contains("ret@"), "{error}");
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
