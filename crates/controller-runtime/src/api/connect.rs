//! The HTTP stack below [`kube::Client`].

use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use kube::config::AuthInfo;
use tower::{BoxError, Service, ServiceBuilder};

use super::renewed::Renewed;

/// A connection could not be set up from its configuration.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up a client for {server}")]
pub struct ConnectError {
    server: String,
    #[source]
    source: BoxError,
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Builds a client from a kubeconfig or in-cluster configuration.
///
/// Authentication, TLS and the base URL are kube's. Its connector and middle layers are replaced: small writes must
/// not wait for Nagle's algorithm, a dead peer must be noticed, and an overloaded server's answer must reach the work
/// queue instead of being retried out of sight for minutes.
///
/// Files with a token or a client certificate may be replaced: requests that begin 10 s later use what is in them then.
/// With another certificate they go over new connections; the old ones end with the requests that are under way.
pub fn connect(config: &kube::Config) -> Result<kube::Client, ConnectError> {
    let service = || -> Result<_, BoxError> {
        let mut config = config.clone();
        let token = config.auth_info.token_file.take().map(renewed_token).transpose()?;
        if token.is_some() {
            // Of both, the file counts (upstream: `transport/round_trippers.go`).
            config.auth_info.token = None;
        }
        let stack = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer()?)
            .layer(config.extra_headers_layer()?)
            .map_err(BoxError::from);
        let files = certificate_files(&config.auth_info);
        let http = Renewed::new(files, move |_| Ok(http_client(&config)?))?;
        Ok(stack.service(Transport { http, token }))
    };
    let failed = |source| ConnectError { server: config.cluster_url.to_string(), source };
    Ok(kube::Client::new(service().map_err(failed)?, config.default_namespace.clone()))
}

/// The same without credentials: for [`ApiClient::with_service_account`](super::ApiClient::with_service_account).
pub fn connect_anonymously(config: &kube::Config) -> Result<kube::Client, ConnectError> {
    let mut anonymous = config.clone();
    anonymous.auth_info = AuthInfo::default();
    connect(&anonymous)
}

/// Connections with the certificate that is in the files now.
fn http_client(
    config: &kube::Config,
) -> kube::Result<HttpClient<impl Connect + Clone + Send + Sync + use<>, Body>> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let tls = config.rustls_https_connector_with_connector(tcp)?;
    Ok(HttpClient::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(tls))
}

/// The files that the client's certificate comes from; none if a part of it stands in the kubeconfig itself.
fn certificate_files(auth: &AuthInfo) -> Vec<PathBuf> {
    let embedded = auth.client_certificate_data.is_some() || auth.client_key_data.is_some();
    let files = [&auth.client_certificate, &auth.client_key];
    files.into_iter().flatten().filter(|_| !embedded).map(PathBuf::from).collect()
}

/// The header with the token of a file, without the end of its line.
fn renewed_token(file: String) -> Result<Renewed<HeaderValue>, BoxError> {
    Renewed::new(vec![file.into()], |contents| {
        let token = String::from_utf8(contents.concat())?;
        let token = Some(token.trim()).filter(|token| !token.is_empty()).ok_or("no token in the file")?;
        let mut header = HeaderValue::try_from(format!("Bearer {token}"))?;
        header.set_sensitive(true);
        Ok(header)
    })
}

/// Sends requests with what the files of the configuration hold.
#[derive(Clone)]
struct Transport<H> {
    http: Renewed<H>,
    token: Option<Renewed<HeaderValue>>,
}

impl<H> Service<Request<Body>> for Transport<H>
where
    H: Service<Request<Body>> + Clone,
{
    type Response = H::Response;
    type Error = H::Error;
    type Future = H::Future;

    /// Always: connections are made for requests.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(token) = &self.token {
            request.headers_mut().insert(AUTHORIZATION, token.current());
        }
        self.http.current().call(request)
    }
}
