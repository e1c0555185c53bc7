//! HTTPS clients that accept any server certificate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme, SupportedProtocolVersion};
use scripted_api::pki::Identity;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::LIMIT;

/// Connection options.
#[derive(Clone)]
pub(crate) struct Options<'a> {
    pub(crate) identity: Option<&'a Identity>,
    pub(crate) http2: bool,
    pub(crate) server_name: &'a str,
    pub(crate) versions: &'static [&'static SupportedProtocolVersion],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { identity: None, http2: false, server_name: "localhost", versions: rustls::ALL_VERSIONS }
    }
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// One connection.
pub(crate) struct Client {
    sender: Sender,
    connection: JoinHandle<()>,
    pub(crate) certificate: CertificateDer<'static>,
}

enum Sender {
    Http1(http1::SendRequest<Body>),
    Http2(http2::SendRequest<Body>),
}

/// Connects and performs the TLS handshake only.
pub(crate) async fn tls(address: SocketAddr, options: &Options<'_>) -> std::io::Result<TlsStream<TcpStream>> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(options.versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAnyServer(provider)));
    let mut config = match options.identity {
        Some(identity) => {
            config.with_client_auth_cert(vec![identity.certificate.clone()], identity.key()).unwrap()
        }
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![if options.http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from(options.server_name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr, options: &Options<'_>) -> std::io::Result<Self> {
        let stream = tls(address, options).await?;
        let certificate = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
        let io = TokioIo::new(stream);
        let (sender, connection) = if options.http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
            (Sender::Http2(sender), tokio::spawn(async { connection.await.unwrap_or_default() }))
        } else {
            let (sender, connection) = http1::handshake(io).await.unwrap();
            (Sender::Http1(sender), tokio::spawn(async { connection.await.unwrap_or_default() }))
        };
        Ok(Self { sender, connection, certificate })
    }

    pub(crate) async fn send(&mut self, request: Request<Body>) -> hyper::Result<Response> {
        let exchange = async {
            let response = match &mut self.sender {
                Sender::Http1(sender) => sender.send_request(request).await?,
                Sender::Http2(sender) => sender.send_request(request).await?,
            };
            let (parts, body) = response.into_parts();
            let bytes = axum::body::to_bytes(Body::new(body), usize::MAX).await.unwrap();
            let body = String::from_utf8(bytes.to_vec()).unwrap();
            Ok(Response { status: parts.status, headers: parts.headers, body })
        };
        tokio::time::timeout(LIMIT, exchange).await.expect("a response in time")
    }

    pub(crate) async fn get(&mut self, path: &str) -> hyper::Result<Response> {
        self.send(request(Method::GET, path, &[])).await
    }

    /// Waits until the server has closed the connection.
    pub(crate) async fn closed(&mut self) {
        tokio::time::timeout(LIMIT, &mut self.connection).await.expect("a closed connection").unwrap();
    }

    /// True if the connection is still open after 100 ms.
    pub(crate) async fn stays_open(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(100), &mut self.connection).await.is_err()
    }
}

pub(crate) fn request(method: Method, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let uri = format!("https://localhost{path}");
    let mut request = Request::builder().method(method).uri(uri).header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

/// Sends a request on a new connection.
pub(crate) async fn fetch(
    address: SocketAddr,
    options: &Options<'_>,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> Response {
    let mut client = Client::connect(address, options).await.unwrap();
    client.send(request(method, path, headers)).await.unwrap()
}

/// Sends a GET with a token on a new connection.
pub(crate) async fn get_as(address: SocketAddr, token: &str, path: &str) -> Response {
    let token = format!("Bearer {token}");
    fetch(address, &Options::default(), Method::GET, path, &[("authorization", &token)]).await
}

#[derive(Debug)]
struct AcceptAnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
