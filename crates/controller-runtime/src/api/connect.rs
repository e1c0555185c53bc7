//! The HTTP stack below [`kube::Client`].

use std::time::Duration;

use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::ConfigExt;
use kube::config::AuthInfo;
use tower::{BoxError, ServiceBuilder};

/// A connection could not be set up from its configuration.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up a client for {server}")]
pub struct ConnectError {
    server: String,
    #[source]
    source: kube::Error,
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Builds a client from a kubeconfig or in-cluster configuration.
///
/// Authentication, TLS and the base URL are kube's. Its connector and middle layers are replaced: small writes must
/// not wait for Nagle's algorithm, a dead peer must be noticed, and an overloaded server's answer must reach the work
/// queue instead of being retried out of sight for minutes.
pub fn connect(config: &kube::Config) -> Result<kube::Client, ConnectError> {
    let failed = |source| ConnectError { server: config.cluster_url.to_string(), source };
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let tls = config.rustls_https_connector_with_connector(tcp).map_err(failed)?;
    let http = HttpClient::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(tls);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(failed)?)
        .layer(config.extra_headers_layer().map_err(failed)?)
        .map_err(BoxError::from)
        .service(http);
    Ok(kube::Client::new(service, config.default_namespace.clone()))
}

/// The same without credentials: for [`ApiClient::with_service_account`](super::ApiClient::with_service_account).
pub fn connect_anonymously(config: &kube::Config) -> Result<kube::Client, ConnectError> {
    let mut anonymous = config.clone();
    anonymous.auth_info = AuthInfo::default();
    connect(&anonymous)
}
