//! The HTTP stack below [`kube::Client`].

use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use kube::client::{Body, ConfigExt};
use kube::config::AuthInfo;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tower::{BoxError, Service, ServiceBuilder};
use tracing::info;

use crate::connections::{Connections, KeepAlive};
use crate::connector::Connector;
use crate::file_reload::ReloadingFile;
use crate::gunzip;
use crate::plugin::PluginLayer;
use crate::proxy::{Environment, Kind, Proxy};

/// An error in setting up a client from its configuration.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up a client for {server}")]
pub struct ConnectError {
    server: String,
    #[source]
    source: BoxError,
}

/// Builds a client from a kubeconfig or in-cluster configuration, with connections of its own; clones share them.
///
/// Authentication, TLS and the base URL are kube's. Its connector and middle layers are replaced: small writes must
/// not wait for Nagle's algorithm, a dead peer must be noticed, and an overloaded server's response must reach the work
/// queue instead of being retried below it for minutes.
///
/// Over TLS the server is offered HTTP/2 before HTTP/1.1; without TLS it is HTTP/1.1. With HTTP/2, requests share one
/// connection, on which an API server processes 100 at a time; so requests that must not wait for others, such as
/// watches and renewals of a Lease, need a client of their own. A request 60 s or more after the previous one opens a
/// new connection; open watches stay on the old one. `DISABLE_HTTP2` in the environment disables HTTP/2, as for
/// client-go.
///
/// Responses may be compressed unless `disable_compression` of the configuration is set, as for client-go.
///
/// The proxy is `proxy_url` of the configuration, else that of the environment (`HTTPS_PROXY`, `HTTP_PROXY`,
/// `NO_PROXY`) by Go's rules.
///
/// Files with a token, a client certificate or certificate authorities may be replaced: requests from 10 s later on use
/// the new contents. New certificates need new connections; the old ones close after the requests in progress. The same
/// happens after a request that was cancelled without a response.
///
/// An `exec` plugin, which this runs, is run again once its token has expired; a request that ends before it does not end it.
///
/// # Errors
///
/// Files that cannot be read or parsed, a plugin that fails, and unsupported proxies. Reads files, which blocks.
pub fn connect(config: &kube::Config) -> Result<kube::Client, ConnectError> {
    connect_with(config, KeepAlive::default())
}

/// Like [`connect`], with other bounds on the silence of a connection.
pub fn connect_with(config: &kube::Config, keep_alive: KeepAlive) -> Result<kube::Client, ConnectError> {
    let service = || -> Result<_, BoxError> {
        let mut config = config.clone();
        let token = config.auth_info.token_file.take().map(reloading_token).transpose()?;
        if token.is_some() {
            // The file takes precedence (upstream: `transport/round_trippers.go`).
            config.auth_info.token = None;
        }
        let auth = config.auth_layer()?;
        let has_plugin = config.auth_info.exec.is_some() || config.auth_info.auth_provider.is_some();
        let (auth, plugin) = if has_plugin { (None, auth.map(PluginLayer)) } else { (auth, None) };
        let stack = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(auth)
            .option_layer(plugin)
            .layer(config.extra_headers_layer()?)
            .map_err(BoxError::from)
            .map_request(if config.disable_compression { |request| request } else { gunzip::ask })
            .map_response(gunzip::read);
        let connections = reloading_connections(config, keep_alive)?;
        Ok(stack.service(Transport { connections, token }))
    };
    let failed = |source| ConnectError { server: config.cluster_url.to_string(), source };
    Ok(kube::Client::new(service().map_err(failed)?, config.default_namespace.clone()))
}

/// Connections that are replaced with their certificate files.
fn reloading_connections(
    mut config: kube::Config,
    keep_alive: KeepAlive,
) -> Result<ReloadingFile<Arc<Connections>>, BoxError> {
    let proxy = Proxy::select(config.proxy_url.as_ref(), &config.cluster_url, &Environment::of_process())?;
    if let Some(proxy) = &proxy {
        info!(server = %config.cluster_url, proxy = %proxy.url, configured = proxy.source, "Using a proxy");
    }
    let http2 = std::env::var_os("DISABLE_HTTP2").is_none_or(|value| value.is_empty());
    // kube would read the file itself, during a handshake.
    let authorities = config.root_cert_file.take();
    let mut files = certificate_files(&config.auth_info);
    let place = authorities.map(|file| {
        files.push(file);
        files.len() - 1
    });
    if place.is_none() && !is_over_tls(&config.cluster_url, proxy.as_ref()) {
        // Else kube would load those of the system, which may have none, as in an image of the program alone.
        config.root_cert.get_or_insert_default();
    }
    ReloadingFile::new(files, move |contents| {
        let mut config = config.clone();
        if let Some(pem) = place.and_then(|place| contents.get(place)) {
            config.root_cert = Some(certificates(pem)?);
        }
        Ok(Connections::new(Connector::new(&config, proxy.as_ref(), http2)?, keep_alive))
    })
}

/// True if a server or a proxy shows a certificate.
fn is_over_tls(server: &Uri, proxy: Option<&Proxy>) -> bool {
    server.scheme_str() == Some("https") || proxy.is_some_and(|proxy| proxy.kind == Kind::Https)
}

/// The files of the client's certificate; none if a part of it is inline in the kubeconfig.
fn certificate_files(auth: &AuthInfo) -> Vec<PathBuf> {
    let embedded = auth.client_certificate_data.is_some() || auth.client_key_data.is_some();
    let files = [&auth.client_certificate, &auth.client_key];
    files.into_iter().flatten().filter(|_| !embedded).map(PathBuf::from).collect()
}

/// The certificates of a bundle. An empty bundle, as while the file is written, is an error: it would trust no server.
fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, BoxError> {
    let certificates = CertificateDer::pem_slice_iter(pem).map(|certificate| Ok(certificate?.to_vec()));
    let certificates = certificates.collect::<Result<Vec<_>, BoxError>>()?;
    if certificates.is_empty() { Err("no certificates in the file".into()) } else { Ok(certificates) }
}

/// The `Authorization` header with the token of a file, without trailing newline.
fn reloading_token(file: String) -> Result<ReloadingFile<HeaderValue>, BoxError> {
    ReloadingFile::new(vec![file.into()], |contents| {
        let token = String::from_utf8(contents.concat())?;
        let token = Some(token.trim()).filter(|token| !token.is_empty()).ok_or("no token in the file")?;
        let mut header = HeaderValue::try_from(format!("Bearer {token}"))?;
        header.set_sensitive(true);
        Ok(header)
    })
}

/// Sends requests with the current credentials.
#[derive(Clone)]
struct Transport {
    connections: ReloadingFile<Arc<Connections>>,
    token: Option<ReloadingFile<HeaderValue>>,
}

impl Service<Request<Body>> for Transport {
    type Response = Response<Incoming>;
    type Error = hyper_util::client::legacy::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    /// Always ready: connections are opened on demand.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let Self { connections, token } = self.clone();
        async move {
            if let Some(token) = token {
                request.headers_mut().insert(AUTHORIZATION, token.current().await);
            }
            connections.current().await.send(request).await
        }
        .boxed()
    }
}
