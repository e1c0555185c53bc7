//! Kubeconfig files, as the components of a cluster and the commands of a user read them.

mod current;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use http::Uri;
use http::uri::InvalidUri;
use kube::config::{Cluster, KubeConfigOptions, Kubeconfig, KubeconfigError as ReadError};

pub use self::current::server_url;

/// A kubeconfig that cannot be used. The message begins with the flag or variable that names it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct KubeconfigError(#[from] Fault);

#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{flag}: cannot read {path}")]
    Unreadable { flag: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{flag}: cannot use the kubeconfig {path}")]
    Unusable { flag: &'static str, path: PathBuf, source: ReadError },
    #[error(
        "{flag}: server of the current cluster in {path} is not an address such as https://10.0.0.1:6443"
    )]
    Server { flag: &'static str, path: PathBuf },
    #[error("{flag}: proxy-url of the current cluster in {path} is not a URL")]
    ProxyUrl { flag: &'static str, path: PathBuf, source: InvalidUri },
    #[error("there is no kubeconfig: give --kubeconfig, set KUBECONFIG, or write ~/.kube/config")]
    Missing,
    #[error("no kubeconfig has the context {0}")]
    NoContext(String),
}

/// Reads the kubeconfig that `flag` names, once, as upstream does. [`connect`](crate::connect()) reads the files that it
/// names again when they change.
///
/// No credentials are sent to a server whose URL is not `https`.
pub async fn load_kubeconfig(flag: &'static str, path: &Path) -> Result<kube::Config, KubeconfigError> {
    load_kubeconfig_for(flag, path, None).await
}

/// The same for a `server` in place of the kubeconfig's, as client-go's `--master` names it.
pub async fn load_kubeconfig_for(
    flag: &'static str,
    path: &Path,
    server: Option<&Uri>,
) -> Result<kube::Config, KubeconfigError> {
    let mut kubeconfig = Kubeconfig::read_from(path).map_err(|error| unusable(flag, path, error))?;
    if let (Some(server), Some(cluster)) = (server, current::cluster(&mut kubeconfig)) {
        cluster.server = Some(server.to_string().trim_end_matches('/').to_owned());
    }
    Ok(configure(kubeconfig, flag, path).await?)
}

/// The configuration for a user's command: the kubeconfig of `--kubeconfig`, else those of `$KUBECONFIG`, else that of the
/// home directory, else, without a context, that of the cluster this process runs in.
pub async fn load_user_kubeconfig(
    path: Option<&Path>,
    context: Option<&str>,
) -> Result<kube::Config, KubeconfigError> {
    let flag = if path.is_some() { "--kubeconfig" } else { "KUBECONFIG" };
    let place = path.map_or_else(default_kubeconfig, Path::to_owned);
    let mut kubeconfig = match user_kubeconfig(path) {
        Ok(kubeconfig) => kubeconfig,
        Err(_) if path.is_none() && listed_files().is_none() && !place.exists() => {
            return Ok(in_cluster(context)?);
        }
        Err(error) => return Err(unusable(flag, &place, error).into()),
    };
    if let Some(context) = context {
        if !kubeconfig.contexts.iter().any(|known| known.name == context) {
            return Err(Fault::NoContext(context.to_owned()).into());
        }
        kubeconfig.current_context = Some(context.to_owned());
    }
    Ok(configure(kubeconfig, flag, &place).await?)
}

/// The configuration of the cluster that this process runs in. It is that of no context, as for client-go: a command for another
/// cluster must not reach this one.
fn in_cluster(context: Option<&str>) -> Result<kube::Config, Fault> {
    match context {
        Some(context) => Err(Fault::NoContext(context.to_owned())),
        None => kube::Config::incluster().map_err(|_| Fault::Missing),
    }
}

/// The names of the contexts that [`load_user_kubeconfig`] knows; none of files that cannot be read.
pub fn user_contexts(path: Option<&Path>) -> Vec<String> {
    let contexts = user_kubeconfig(path).map(|kubeconfig| kubeconfig.contexts).unwrap_or_default();
    contexts.into_iter().map(|context| context.name).collect()
}

fn user_kubeconfig(path: Option<&Path>) -> Result<Kubeconfig, ReadError> {
    path.map_or_else(default_files, Kubeconfig::read_from)
}

/// The kubeconfig of a user who names none: the files of `$KUBECONFIG` as client-go reads them, which leaves out those that do not
/// exist, unless none does, and takes the first context that is named.
fn default_files() -> Result<Kubeconfig, ReadError> {
    let list = listed_files().unwrap_or_default();
    merged(std::env::split_paths(&list).filter(|path| path.exists())).unwrap_or_else(Kubeconfig::read)
}

/// One kubeconfig of several files; none without a file.
fn merged(files: impl Iterator<Item = PathBuf>) -> Option<Result<Kubeconfig, ReadError>> {
    let read = |path| {
        let mut kubeconfig = Kubeconfig::read_from(path)?;
        kubeconfig.current_context = kubeconfig.current_context.filter(|context| !context.is_empty());
        Ok(kubeconfig)
    };
    files.map(read).reduce(|merged, next| merged?.merge(next?))
}

/// The kubeconfig of a user who names none, for messages.
fn default_kubeconfig() -> PathBuf {
    listed_files()
        .map_or_else(|| std::env::home_dir().unwrap_or_default().join(".kube/config"), PathBuf::from)
}

/// `$KUBECONFIG`. An empty one counts as none, as in client-go.
fn listed_files() -> Option<OsString> {
    std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty())
}

/// The error about the kubeconfig that `flag` names.
fn unusable(flag: &'static str, path: &Path, error: ReadError) -> Fault {
    match error {
        // Its own message would name the file once more.
        ReadError::ReadConfig(source, path) => Fault::Unreadable { flag, path, source },
        source => Fault::Unusable { flag, path: path.to_owned(), source },
    }
}

async fn configure(
    mut kubeconfig: Kubeconfig,
    flag: &'static str,
    path: &Path,
) -> Result<kube::Config, Fault> {
    let no_server = |_| Fault::Server { flag, path: path.to_owned() };
    current::prepare(&mut kubeconfig).map_err(no_server)?;
    let text = current::cluster(&mut kubeconfig).and_then(|cluster| cluster.proxy_url.clone());
    let (authorities, proxy) = match current::cluster(&mut kubeconfig) {
        Some(cluster) => (authorities_file(cluster), take_proxy(cluster)),
        None => (None, Ok(None)),
    };
    let proxy = proxy.map_err(|source| Fault::ProxyUrl { flag, path: path.to_owned(), source })?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| unusable(flag, path, error))?;
    if config.default_namespace.is_empty() {
        "default".clone_into(&mut config.default_namespace);
    }
    config.root_cert_file = authorities;
    config.proxy_url = proxy;
    // A plugin is told of the cluster as the file has it.
    if let Some(cluster) = config.auth_info.exec.as_mut().and_then(|exec| exec.cluster.as_mut()) {
        cluster.proxy_url = text;
    }
    Ok(config)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_chain;

    /// Reads a kubeconfig whose current context has this cluster and this user, for a `server` in place of the cluster's.
    async fn load(cluster: &str, user: &str, server: Option<&Uri>) -> Result<kube::Config, KubeconfigError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kubeconfig");
        let text = format!(
            "{{current-context: a, contexts: [{{name: a, context: {{cluster: c, user: u, namespace: ''}}}}], \
             users: [{{name: u, user: {{{user}}}}}], clusters: [{{name: c, cluster: {{{cluster}}}}}]}}"
        );
        std::fs::write(&path, text).unwrap();
        load_kubeconfig_for("--kubeconfig", &path, server).await
    }

    const EXEC: &str = "exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never, \
                        provideClusterInfo: true}";

    #[test]
    fn the_authorities_file_is_that_of_the_current_context() {
        let file = |current: &str| {
            let text = format!(
                "{{current-context: {current}, \
                 contexts: [{{name: a, context: {{cluster: file}}}}, {{name: b, context: {{cluster: data}}}}], \
                 clusters: [{{name: data, cluster: {{certificate-authority: /x, certificate-authority-data: eA==}}}}, \
                 {{name: file, cluster: {{certificate-authority: /ca.crt}}}}]}}"
            );
            authorities_file(current::cluster(&mut Kubeconfig::from_yaml(&text).unwrap())?)
        };
        assert_eq!(file("a"), Some("/ca.crt".into()));
        assert_eq!(file("b"), None);
        assert_eq!(file("c"), None);
    }

    #[test]
    fn of_several_kubeconfigs_the_first_context_that_is_named_is_current() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).unwrap();
            directory.path().join(name)
        };
        let first = file("a", "{current-context: '', contexts: [{name: x, context: {cluster: c}}]}");
        let second = file("b", "{current-context: y, contexts: [{name: y, context: {cluster: c}}]}");
        let kubeconfig = merged([first, second].into_iter()).unwrap().unwrap();
        assert_eq!((kubeconfig.current_context.as_deref(), kubeconfig.contexts.len()), (Some("y"), 2));
        assert!(merged([directory.path().join("none")].into_iter()).unwrap().is_err());
        assert!(merged(std::iter::empty()).is_none());
    }

    /// The credentials that client-go's `ClientConfig` reads for each URL of a server.
    #[tokio::test]
    async fn credentials_are_for_servers_with_tls() {
        let user = format!(
            "token: secret, tokenFile: /t, client-certificate-data: eA==, as: them, as-groups: [them], username: me, \
             password: secret, {EXEC}"
        );
        for (server, other, expected) in [
            ("https://k8s", None, true),
            ("http://k8s", None, false),
            ("http://k8s", Some("https://k8s:6443/"), true),
            ("https://k8s", Some("http://k8s:8080/"), false),
            ("k8s:8080", None, false),
        ] {
            let cluster = format!(
                "server: '{server}', certificate-authority-data: eA==, tls-server-name: a, insecure-skip-tls-verify: true"
            );
            let other: Option<Uri> = other.map(|url| url.parse().unwrap());
            let config = load(&cluster, &user, other.as_ref()).await.unwrap();
            let used = other.or_else(|| server_url(server)).unwrap();
            assert_eq!(config.cluster_url, used);
            let user = config.auth_info;
            let kept = [
                user.token.is_some(),
                user.token_file.is_some(),
                user.client_certificate_data.is_some(),
                user.username.is_some() && user.password.is_some(),
                user.exec.is_some(),
                config.root_cert.is_some(),
                config.accept_invalid_certs,
                config.tls_server_name.is_some(),
            ];
            assert_eq!(kept, [expected; 8], "{server} {used}");
            assert_eq!(
                (user.impersonate.as_deref(), user.impersonate_groups.unwrap().len()),
                (Some("them"), 1)
            );
        }
    }

    /// kube would end the process at the first request.
    #[tokio::test]
    async fn a_server_is_an_address_with_or_without_a_scheme() {
        for (server, expected) in [
            ("10.0.0.1:6443", Ok("http://10.0.0.1:6443/")),
            ("localhost", Ok("http://localhost/")),
            ("https://k8s/clusters/a", Ok("https://k8s/clusters/a")),
            ("unix:///k8s", Err("server of the current cluster in ")),
            ("/k8s", Err("server of the current cluster in ")),
        ] {
            match (load(&format!("server: '{server}'"), "", None).await, expected) {
                (Ok(config), Ok(url)) => assert_eq!(config.cluster_url.to_string(), url),
                (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
                (loaded, _) => panic!("{server}: {loaded:?}"),
            }
        }
    }

    /// Each field of the first column is read as if it were not there, or as the second.
    #[tokio::test]
    async fn what_go_ignores_in_a_kubeconfig_is_ignored() {
        let load = async |cluster: &str, user: &str| {
            let config = load(&format!("server: 'https://k8s'{cluster}"), user, None).await.unwrap();
            let user = serde_json::to_value(&config.auth_info).unwrap();
            (config.root_cert, config.root_cert_file, config.tls_server_name, user)
        };
        for (cluster, expected) in [
            (", certificate-authority: ''", ""),
            (", certificate-authority-data: ''", ""),
            (", tls-server-name: ''", ""),
            (r#", certificate-authority-data: "eA\r\n==\n""#, ", certificate-authority-data: eA=="),
            (
                ", certificate-authority: '', certificate-authority-data: eA==",
                ", certificate-authority-data: eA==",
            ),
        ] {
            assert_eq!(load(cluster, "").await, load(expected, "").await, "{cluster}");
        }
        for (user, expected) in [
            ("client-certificate: '', client-key: '', tokenFile: ''", ""),
            ("client-certificate-data: '', client-key-data: ''", ""),
            ("token: '', username: '', password: '', as: '', as-uid: ''", ""),
            ("password: secret", ""),
            ("username: me, password: ''", "username: me, password: ''"),
            (
                r#"client-certificate-data: "e\nA==", client-key-data: "e\r\nA=\n=\n""#,
                "client-certificate-data: eA==, client-key-data: eA==",
            ),
            ("client-certificate: '', client-certificate-data: eA==", "client-certificate-data: eA=="),
            ("client-key: /k, token: secret, x: ''", "client-key: /k, token: secret, x: ''"),
        ] {
            assert_eq!(load("", user).await, load("", expected).await, "{user}");
        }
        assert_ne!(load("", "token: secret").await, load("", "").await);
    }

    #[tokio::test]
    async fn an_empty_namespace_is_none() {
        let config = load("server: 'https://k8s'", "", None).await.unwrap();
        assert_eq!(config.default_namespace, "default");
    }

    #[tokio::test]
    async fn the_proxy_is_that_of_the_kubeconfig_alone() {
        let proxy = async |field: &str| {
            let config = load(&format!("server: 'https://k8s'{field}"), EXEC, None).await;
            config.map(|config| {
                let told = config.auth_info.exec.unwrap().cluster.unwrap().proxy_url;
                let used = config.proxy_url.map(|url| url.to_string());
                let told = told.filter(|url| !url.is_empty()).map(|url| format!("{url}/"));
                assert_eq!(told, used, "what a plugin is told");
                used
            })
        };
        assert_eq!(proxy("").await.unwrap(), None);
        assert_eq!(proxy(", proxy-url: ''").await.unwrap(), None);
        assert_eq!(proxy(", proxy-url: 'http://p:1'").await.unwrap().as_deref(), Some("http://p:1/"));
        let error = error_chain(&proxy(", proxy-url: 'http://me:sec ret@p'").await.unwrap_err());
        assert!(error.contains("proxy-url") && !error.contains("ret@"), "{error}");
    }
}
