//! New connections: TCP, a proxy if there is one, TLS.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Uri;
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use kube::client::ConfigExt;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::{BoxError, Service};

use crate::proxy::{Kind, Proxy};

/// The time limit of a TCP connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of a connection, proxy and TLS included.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
/// A time in which a request that needs a new connection is sent on it, and answered. A request that is dropped earlier may
/// take a connection with it that was almost ready, and the next one begins another.
pub const NEW_CONNECTION_TIMEOUT: Duration = Duration::from_secs(25);
/// The silence after which a connection is probed.
const PROBE_AFTER: Duration = Duration::from_secs(15);
/// The time between two probes.
const PROBE_EVERY: Duration = Duration::from_secs(5);
/// The number of unanswered probes after which a connection is closed.
const PROBES: u32 = 3;
/// The time for which sent data may stay unacknowledged. Only Linux has the option; elsewhere a lost connection is found by probes.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// A stream to the API server: TLS or not, over a stream to a proxy or to the server: TLS or not.
type Stream = MaybeHttpsStream<RouteStream>;
type RouteStream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Connects to the API server. Cheap to clone.
///
/// TCP has no Nagle delay, and detects a dead peer within 30 s, or 15 s more on an idle connection. A proxy in between
/// answers these probes itself; only HTTP/2's pings go all the way (see [`KeepAlive`](super::KeepAlive)).
#[derive(Clone)]
pub(crate) struct Connector(HttpsConnector<Route>);

impl Connector {
    /// A connector with the certificates of the configuration, whose files it reads, which blocks. With `http2`, the
    /// server is offered that before HTTP/1.1.
    pub(crate) fn new(config: &kube::Config, proxy: Option<&Proxy>, http2: bool) -> Result<Self, BoxError> {
        let mut tls = config.rustls_client_config()?;
        let route = Route::new(proxy, &tls);
        tls.alpn_protocols = if http2 { vec![b"h2".to_vec(), b"http/1.1".to_vec()] } else { Vec::new() };
        let https = match &config.tls_server_name {
            Some(name) => {
                let name = FixedServerNameResolver::new(ServerName::try_from(name.clone())?);
                HttpsConnector::new(route, tls, false, Arc::new(name))
            }
            None => HttpsConnector::new(route, tls, false, Arc::new(DefaultServerNameResolver::default())),
        };
        Ok(Self(https))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Stream, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let connecting = self.0.call(server);
        async move {
            let timed_out = |_| io::Error::new(io::ErrorKind::TimedOut, "no connection within 20 s");
            timeout(READY_TIMEOUT, connecting).await.map_err(timed_out)?
        }
        .boxed()
    }
}

/// The route to the server: direct, or through a proxy.
#[derive(Clone)]
enum Route {
    Direct(HttpConnector),
    Http(Tunnel<HttpConnector>),
    Https(Tunnel<HttpsConnector<HttpConnector>>),
    Socks(SocksV5<HttpConnector>),
}

impl Route {
    /// A proxy over TLS is verified with the same authorities as the server, as by Go's transport.
    fn new(proxy: Option<&Proxy>, tls: &rustls::ClientConfig) -> Self {
        let tcp = tcp();
        let Some(proxy) = proxy else { return Self::Direct(tcp) };
        let url = proxy.url.clone();
        match proxy.kind {
            Kind::Http => Self::Http(authorized(Tunnel::new(url, tcp), proxy)),
            Kind::Https => {
                Self::Https(authorized(Tunnel::new(url, HttpsConnector::from((tcp, tls.clone()))), proxy))
            }
            Kind::Socks => {
                let socks = SocksV5::new(url, tcp);
                Self::Socks(match proxy.name_and_password() {
                    Some((name, password)) => socks.with_auth(name, password),
                    None => socks,
                })
            }
        }
    }
}

fn authorized<C>(tunnel: Tunnel<C>, proxy: &Proxy) -> Tunnel<C> {
    match proxy.authorization() {
        Some(authorization) => tunnel.with_auth(authorization),
        None => tunnel,
    }
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(PROBE_AFTER));
    tcp.set_keepalive_interval(Some(PROBE_EVERY));
    tcp.set_keepalive_retries(Some(PROBES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp
}

impl Service<Uri> for Route {
    type Response = RouteStream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<RouteStream, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Self::Direct(tcp) => tcp.poll_ready(context).map_err(Into::into),
            Self::Http(tunnel) => tunnel.poll_ready(context).map_err(Into::into),
            Self::Https(tunnel) => tunnel.poll_ready(context).map_err(Into::into),
            Self::Socks(socks) => socks.poll_ready(context).map_err(Into::into),
        }
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        match self {
            Self::Direct(tcp) => tcp.call(server).map(|stream| Ok(stream?.into())).boxed(),
            Self::Http(tunnel) => {
                // Without a port, the tunnel and SOCKS would use 443.
                tunnel.call(with_port(server)).map(|stream| Ok(stream?.into())).boxed()
            }
            Self::Https(tunnel) => tunnel.call(with_port(server)).map(|stream| Ok(stream?)).boxed(),
            Self::Socks(socks) => socks.call(with_port(server)).map(|stream| Ok(stream?.into())).boxed(),
        }
    }
}

/// Adds the port of the scheme to a URL without port.
fn with_port(server: Uri) -> Uri {
    match (server.scheme_str(), server.host(), server.port()) {
        (Some("http"), Some(host), None) => format!("http://{host}:80/").parse().unwrap_or(server),
        _ => server,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa};
    use scripted_api::mutual_tls::Authority;
    use socket2::SockRef;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::proxy::Environment;

    #[tokio::test]
    async fn sockets_notice_a_peer_that_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let config = kube::Config::new(server.parse().unwrap());
        let mut connector = Connector::new(&config, None, true).unwrap();
        let stream = connector.call(server.parse().unwrap()).await.unwrap();
        let MaybeHttpsStream::Http(MaybeHttpsStream::Http(stream)) = stream else { panic!("not plain") };
        let socket = SockRef::from(stream.inner());
        assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(15));
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(5));
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 3);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(30)));
    }

    #[tokio::test]
    async fn http2_is_offered_unless_it_is_disabled() {
        let authority = Authority::new("servers");
        let acceptor = authority.issue("127.0.0.1").acceptor(&[b"h2", b"http/1.1"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("https://{}", listener.local_addr().unwrap());
        let mut config = kube::Config::new(server.parse().unwrap());
        config.root_cert = Some(vec![authority.der()]);
        for (http2, expected) in [(true, Some(&b"h2"[..])), (false, None)] {
            let mut connector = Connector::new(&config, None, http2).unwrap();
            let accept = async { acceptor.accept(listener.accept().await.unwrap().0).await.unwrap() };
            let (stream, _) = tokio::join!(connector.call(server.parse().unwrap()), accept);
            let MaybeHttpsStream::Https(stream) = stream.unwrap() else { panic!("not over TLS") };
            assert_eq!(stream.inner().get_ref().1.alpn_protocol(), expected);
        }
    }

    /// Go accepts it.
    #[tokio::test]
    async fn a_server_with_the_certificate_of_an_authority_is_refused() {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = Authority::new("servers");
        let acceptor = authority.sign(&params).acceptor(&[]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("https://{}", listener.local_addr().unwrap());
        let mut config = kube::Config::new(server.parse().unwrap());
        config.root_cert = Some(vec![authority.der()]);
        let mut connector = Connector::new(&config, None, true).unwrap();
        let accept = async { acceptor.accept(listener.accept().await.unwrap().0).await };
        let (stream, _) = tokio::join!(connector.call(server.parse().unwrap()), accept);
        let error = format!("{:?}", stream.err().unwrap());
        assert!(error.contains("CaUsedAsEndEntity"), "{error}");
    }

    #[tokio::test]
    async fn socks_leads_to_the_port_of_the_scheme() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("socks5://{}", listener.local_addr().unwrap()).parse().unwrap();
        let server: Uri = "http://192.0.2.1".parse().unwrap();
        let proxy = Proxy::select(Some(&url), &server, &Environment::default()).unwrap();
        let config = kube::Config::new(server.clone());
        let mut connector = Connector::new(&config, proxy.as_ref(), true).unwrap();
        let connecting = tokio::spawn(connector.call(server));
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 3]).await.unwrap();
        stream.write_all(&[5, 0]).await.unwrap();
        let mut request = [0; 10];
        stream.read_exact(&mut request).await.unwrap();
        assert_eq!(request, [5, 1, 0, 1, 192, 0, 2, 1, 0, 80], "version 5, connect, reserved, IPv4, port");
        connecting.abort();
    }
}
